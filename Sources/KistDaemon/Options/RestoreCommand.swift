internal import ArgumentParser
internal import KistCore

/// The flags of `kistd restore` as they are typed.
struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd restore",
    abstract:
      "Make the encrypted file of a backup, where there is none; kistd must not be running.",
    usage: "kistd restore FILE [OPTIONS]",
    discussion: """
      The passphrase of the backup is read from standard input, or from --passphrase-fd. The store \
      opens with its key file, which is made where there is none, or with a passphrase of its own.
      """)

  @Argument(help: ArgumentHelp("The backup.", valueName: "file"))
  var file: String

  @Flag(help: "Read all of the backup, count the credentials, and make nothing.")
  var verify = false

  @Option(
    help: ArgumentHelp(
      "A descriptor to read a passphrase from that opens the store, in place of a key file.",
      valueName: "number"))
  var newPassphraseFd: String?

  @Option(
    help: ArgumentHelp(
      "The directory of the store; by default $XDG_DATA_HOME/kist.", valueName: "directory"))
  var data: String?

  @Option(
    help: ArgumentHelp(
      "The file of the store's key; by default $XDG_STATE_HOME/kist/key.", valueName: "path"))
  var keyFile: String?

  @Option(
    help: ArgumentHelp(
      "A descriptor to read the backup's passphrase from; standard input.", valueName: "number"))
  var passphraseFd: String?

  /// How kistd would be run with the store, and the descriptor of the backup's passphrase.
  func options(
    environment: (String) -> String?
  ) throws(StorageError) -> (options: Options, passphrase: CInt) {
    if file.isEmpty { throw .wrongUsage("the name of the backup is empty", of: Self.self) }
    do {
      var kistd = try Kistd.parse([])
      kistd.store.data = data
      kistd.store.keyFile = keyFile
      kistd.store.passphraseFd = newPassphraseFd
      return (
        try kistd.options(environment: environment),
        try descriptor(passphraseFd, of: "--passphrase-fd") ?? 0
      )
    } catch { throw usageError(error, of: Self.self) }
  }
}

/// The number of a descriptor, where one was given.
func descriptor(_ text: String?, of flag: String) throws(StorageError) -> CInt? {
  guard let text else { return nil }
  return CInt(try Setting(name: flag, text: text).integer(in: 0...Int(CInt.max)))
}
