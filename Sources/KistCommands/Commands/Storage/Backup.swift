internal import ArgumentParser
internal import KistClient
internal import KistInterop
internal import KistJSON

struct Backup: RequiresBackups {
  static let configuration = CommandConfiguration(
    abstract: "Back up the encrypted file, under a separate passphrase.",
    usage: "kist backup <file> [options]",
    discussion: """
      Asks for a passphrase for the backup, or reads it as one line of standard input. This \
      passphrase opens only this backup. `kistd restore FILE` makes a new store from the backup.

        kist backup ~/backups/kist-2027-01-31
      """)

  @Argument(help: ArgumentHelp("The file to write, with mode 600.", valueName: "file"))
  var file: String

  @Flag(help: "Replace an existing file.")
  var replace = false

  @OptionGroup var strength: WeakOption
  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ backups: Backups, _ terminal: Terminal) async throws(StorageError) {
    guard file != "-" else {
      throw .refused(
        "a backup cannot be written to standard output",
        hint: "name a file; for a file with the name `-`, write `./-`")
    }
    var target = try NewFile(for: file, replacing: replace)
    let passphrase = try terminal.passphrases(asking: [.new])[0]
    var progress = ProgressBar("copying", on: terminal)
    defer { progress.clear() }
    let backup = try await backups.make(under: passphrase, allowsWeak: strength.weak) {
      progress.show($0, of: $1)
    }
    progress.clear()
    progress = ProgressBar("reading", on: terminal)
    var size = 0
    while size < backup.size {
      let part = try await backups.read(BackupPart(of: backup.id, from: size))
      guard !part.isEmpty else { throw .internal("the backup is shorter than kistd announced") }
      guard part.count <= backup.size - size else {
        throw .internal("the backup is longer than kistd announced")
      }
      guard size > 0 || part.withBytes({ $0.hasPrefix("SQLite format 3\0") }) else {
        throw .internal("the backup is not a database")
      }
      try target.append(part)
      size += part.count
      progress.show(size, of: backup.size)
    }
    progress.clear()
    try target.finish()
    let json = JSONWriter.object { writer in
      writer.member("file", file)
      writer.member("size", backup.size)
      writer.member("count", backup.count)
    }
    try terminal.reportSuccess(
      "backed up \(counted(backup.count)); to make a store of the backup: `kistd restore FILE`",
      or: json, asJSON: common.json)
  }
}
