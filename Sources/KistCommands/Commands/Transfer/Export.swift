internal import ArgumentParser
internal import Glibc
internal import KistClient
internal import KistInterop
internal import KistJSON
internal import KistWire

struct Export: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "Write credentials, with their secrets, into a file.",
    usage: "kist export [<file>] [options]",
    discussion: """
      The file has mode 600. Without --encrypt, anybody who can read it has the secrets. Each \
      line is one credential as JSON, and the last line their number; `kist import kist` reads \
      it back.

        kist export export.age \\
          --encrypt age1…
        kist export backup.gpg \\
          --encrypt gpg:alice@example.com
        kist export export.jsonl
      """)

  static let threads = 32

  @Argument(
    help: ArgumentHelp("The file. Without it or with -: standard output.", valueName: "file"))
  var file: String?

  @OptionGroup var selection: QueryOptions

  @Option(
    help: ArgumentHelp(
      "Encrypt for a public key of age, a file of such keys, or gpg:KEY; may be repeated.",
      valueName: "recipient"))
  var encrypt: [String] = []

  @Flag(help: "Replace an existing file.")
  var replace = false

  @Flag(help: "Do not ask whether to show secrets on a terminal.")
  var yes = false

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    let query = try selection.query()
    let encryption = encrypt.isEmpty ? nil : try Encryption(for: encrypt)
    guard let file, file != "-" else {
      if terminal.inputIsTerminal { try await storage.checkIsOpen() }
      guard let encryption else {
        try checkOutput(terminal)
        let count = try await export(query, storage) { (line) throws(StorageError) in
          try terminal.writeBytes(terminal.outputIsTerminal ? visible(json: line) : line)
        }
        noteIfEmpty(count, terminal)
        return
      }
      guard !terminal.outputIsTerminal else {
        throw .refused(
          "an encrypted export is not text for a terminal",
          hint: "name the file: `kist export --encrypt RECIPIENT FILE`")
      }
      let count = try await export(query, storage, terminal, through: encryption, to: STDOUT_FILENO)
      noteIfEmpty(count, terminal)
      return
    }
    var target = try NewFile(for: file, replacing: replace)
    let count: Int
    if let encryption {
      count = try await export(query, storage, terminal, through: encryption, to: target.file)
    } else {
      count = try await export(query, storage) { (line) throws(StorageError) in
        try target.append(line)
      }
    }
    try target.finish()
    noteIfEmpty(count, terminal)
    let json = JSONWriter.object { writer in
      writer.member("file", file)
      writer.member("count", count)
    }
    let readers =
      encryption == nil ? "anybody who can read \(file) has" : "only the recipients can decrypt"
    try terminal.reportSuccess(
      count == 0
        ? "\(file) has no credentials"
        : "wrote \(counted(count)); \(readers) the secrets",
      or: json, asJSON: common.json)
  }

  private func noteIfEmpty(_ count: Int, _ terminal: Terminal) {
    guard count == 0 else { return }
    terminal.note("there are no credentials, so the export is empty")
  }

  /// Writes the export to a program that encrypts it; returns the number of credentials.
  private func export(
    _ query: CredentialQuery, _ storage: UserStorage, _ terminal: Terminal,
    through encryption: Encryption, to output: CInt
  ) async throws(StorageError) -> Int {
    var program = try EncryptingProgram(encryption, output: output)
    let count = try await export(query, storage) { (line) throws(StorageError) in
      try program.append(line)
    }
    try program.finish(terminal)
    return count
  }

  /// Refuses a file that others can read, and a pipe, whose reader may keep the secrets.
  private func checkOutput(_ terminal: Terminal) throws(StorageError) {
    if terminal.outputIsPrivate { return }
    guard terminal.outputIsTerminal else {
      throw .refused(
        "standard output is neither a terminal nor a file of mode 600", as: .denied,
        hint: "name the file: `kist export FILE`")
    }
    if yes { return }
    let (notDone, hint) = ("nothing was shown", "name a file: `kist export FILE`")
    guard terminal.inputIsTerminal else { throw .refused(notDone, as: .denied, hint: hint) }
    try terminal.confirm("Show the secrets here?", orElse: notDone, hint: hint)
  }

  /// Writes every credential, including expired ones, the oldest first; returns their number.
  ///
  /// Helpers answer with the newest credential of a host, and an import saves in the order of the file. The
  /// last line has the number, so that an import detects an export that was cut short.
  private func export(
    _ query: CredentialQuery, _ storage: UserStorage, _ write: (Secret) throws(StorageError) -> Void
  ) async throws(StorageError) -> Int {
    var count = 0
    let keys = try await storage.findAll(query).newestFirst.reversed().map(\.key)
    guard !keys.isEmpty || selection.meansAll else {
      throw StorageError(
        .notFound, "no credential matches, so nothing was exported",
        hint: "check the spelling; `kist list` shows all credentials")
    }
    for portion in keys.portions {
      for result in await concurrently(portion, storage.stored) {
        // Another program may have deleted the credential meanwhile.
        guard let credential = try result.get() else { continue }
        try write(credential.json().withNewline)
        count += 1
      }
    }
    try write(exportEnd(count: count).withNewline)
    return count
  }
}
