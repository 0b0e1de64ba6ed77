internal import ArgumentParser
internal import KistCore

/// The flags of `kistd restore` as typed.
struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd restore",
    abstract: "Make the encrypted file of a backup, where there is none.",
    usage: "kistd restore FILE [OPTIONS]",
    discussion: """
      The passphrase of the backup is typed at a prompt, or is standard input. The store opens \
      with its key file, which is made where there is none, or with a passphrase of its own.
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

  @OptionGroup var strength: WeakOption

  @OptionGroup var place: StorePlace

  @Option(
    help: ArgumentHelp(
      "A descriptor to read the backup's passphrase from; standard input.", valueName: "number"))
  var passphraseFd: String?

  /// Returns the options of a kistd with the store, and the descriptor of the backup's passphrase.
  func options(
    environment: (String) -> String?
  ) throws(StorageError) -> (options: Options, passphrase: CInt) {
    if file.isEmpty { throw .wrongUsage("the name of the backup is empty", of: Self.self) }
    let options = try options(environment: environment) { kistd in
      kistd.store.place = place
      kistd.store.passphraseFd = newPassphraseFd
      kistd.strength = strength
    }
    let passphrase = try descriptor(passphraseFd, of: "--passphrase-fd") ?? 0
    try refuseOneDescriptor(for: passphrase, and: options.keySource.descriptor)
    return (options, passphrase)
  }
}

/// Returns the number of a descriptor, if one was given.
func descriptor(_ text: String?, of flag: String) throws(StorageError) -> CInt? {
  guard let text else { return nil }
  return CInt(try Setting(name: flag, text: text).integer(in: 0...Int(CInt.max)))
}
