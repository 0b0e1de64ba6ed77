internal import ArgumentParser
internal import KistCore
internal import KistFile
internal import KistJSON
internal import Logging

struct KeyFileCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd key-file",
    abstract: "Let a key file open the encrypted file, too; kistd must not be running.",
    usage: "kistd key-file add [OPTIONS]",
    discussion: """
      Asks for the passphrase of the store, or reads it from standard input. Makes the key file if \
      there is none, and adds a key slot for it. The passphrase stays valid.
      """)

  @Argument(help: .value("add", "Add a key slot for the key file."), completion: .list(["add"]))
  var action: String

  @OptionGroup var output: JSONOption

  @OptionGroup var place: StorePlace

  @Option(
    help: .value(
      "number", "Read the store's passphrase from this descriptor; by default standard input."))
  var passphraseFd: String?

  fileprivate static var noSuchAction: StorageError {
    .wrongUsage(
      "there is no such action of a key file", of: Self.self, hint: "write `kistd key-file add`")
  }

  /// Returns the options of a kistd with the passphrase, and the key file of one without it.
  func options(
    environment: (String) -> String?
  ) throws(StorageError) -> (options: Options, keyFile: String?) {
    guard action == "add" else { throw Self.noSuchAction }
    let withoutPassphrase: (String) -> String? = { name in
      ["KISTD_PASSPHRASE_FD", "CREDENTIALS_DIRECTORY"].contains(name) ? nil : environment(name)
    }
    let alone = try options(environment: withoutPassphrase) { $0.store.place = place }
    let options = try options(environment: environment) { kistd in
      kistd.store.place = place
      kistd.store.passphraseFd = passphraseFd ?? environment("KISTD_PASSPHRASE_FD") ?? "0"
    }
    return (options, alone.keySource.keyFile)
  }
}

/// Runs `kistd key-file add`: makes a key file open a store that a passphrase opens.
func addKeyFile(
  _ arguments: [String], environment: @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  // For `nonsense --help`, the parser would explain `key-file add`.
  if let first = arguments.first, !first.hasPrefix("-"), first != "add" {
    throw KeyFileCommand.noSuchAction
  }
  let command = try parse(KeyFileCommand.self, arguments)
  let (options, keyFile) = try command.options(environment: environment)
  guard let keyFile else { throw .internal("no key file") }
  _ = try PinFile(path: options.pinFile).read(of: .encryptedFile, orElse: moveHint)
  // These come first, so that the user does not type a passphrase in vain.
  try EncryptedFile.requireStore(at: options.storePath)
  try EncryptedFile.checkIsClosed(at: options.storePath)
  var store = options.ofEncryptedFile(try EncryptedFile.KeySource(options))
  store.progress = EncryptedFile.ProgressOptions(options, logger: .kistd(level: options.logLevel))
  let number = try await EncryptedFile.addKeyFile(keyFile, to: store)
  guard !command.output.json else {
    printJSON(
      JSONWriter.object { writer in
        writer.member("store", options.storePath)
        writer.member("keyFile", keyFile)
        writer.member("slot", number)
      })
    return 0
  }
  printLine("\(options.storePath) opens with the key file \(keyFile), in slot \(number)")
  printLine("keep a copy of the key file elsewhere; the passphrase stays valid")
  return 0
}
