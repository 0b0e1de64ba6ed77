internal import ArgumentParser
internal import KistClient
internal import KistInterop
internal import KistJSON
internal import KistWire

struct Export: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "Write credentials, with their secrets, into a file.",
    usage: "kist export [<file>] [options]",
    discussion: """
      The file has mode 600 and is not encrypted: anybody who can read it has the secrets. Each \
      line is one credential as JSON; `kist import kist` reads it back.

        kist export backup.jsonl
      """)

  static let threads = 32

  @Argument(
    help: ArgumentHelp("The file. Without it or with -: standard output.", valueName: "file"))
  var file: String?

  @OptionGroup var selection: QueryOptions

  @Flag(help: "Replace an existing file.")
  var replace = false

  @Flag(help: "Do not ask whether to show secrets on a terminal.")
  var yes = false

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    let query = try selection.query()
    guard let file, file != "-" else {
      if terminal.inputIsTerminal { try await storage.checkIsOpen() }
      try checkOutput(terminal)
      _ = try await export(query, storage, terminal.writeBytes)
      return
    }
    var target = try NewFile(for: file, replacing: replace)
    let count = try await export(query, storage) { (line) throws(StorageError) in
      try target.append(line)
    }
    try target.finish()
    let json = JSONWriter.object { writer in
      writer.member("file", file)
      writer.member("count", count)
    }
    try terminal.reportSuccess(
      count == 0
        ? "there was nothing to export; \(file) is empty"
        : "wrote \(counted(count)); anybody who can read \(file) has the secrets",
      or: json, asJSON: common.json)
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

  /// Writes every credential, including expired ones, page by page; returns their number.
  private func export(
    _ query: CredentialQuery, _ storage: UserStorage, _ write: (Secret) throws(StorageError) -> Void
  ) async throws(StorageError) -> Int {
    var count = 0
    try await eachPage(of: query, storage.find) { (page) throws(StorageError) in
      for portion in page.credentials.portions {
        for result in await concurrently(portion.map(\.key), storage.stored) {
          // If there is no credential, it was deleted after it was found.
          guard let credential = try result.get() else { continue }
          try write(credential.json().withNewline)
          count += 1
        }
      }
    }
    return count
  }
}
