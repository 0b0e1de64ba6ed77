internal import ArgumentParser
internal import KistCore

/// The flags of `kistd rekey` as typed.
struct RekeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd rekey",
    abstract: "Give the encrypted file a new key, while no kistd has it open.",
    usage: "kistd rekey [OPTIONS]",
    discussion: """
      The key file, if one opens the store, is replaced by a new one; the passphrase that is given \
      opens it as before, or a new one in its place.
      """)

  @Option(
    help: ArgumentHelp(
      "A descriptor to read the passphrase from that opens the store from then on.",
      valueName: "number"))
  var newPassphraseFd: String?

  @Flag(help: "Leave out the key slots that you give nothing for.")
  var dropOthers = false

  @OptionGroup var store: StoreOptions

  @OptionGroup var strength: WeakOption

  /// Returns the options of a kistd with these flags, and its key file without a passphrase.
  func options(
    environment: (String) -> String?
  ) throws(StorageError) -> (options: Options, keyFile: String?, newPassphrase: CInt?) {
    let withoutPassphrase: (String) -> String? = { name in
      name == "KISTD_PASSPHRASE_FD" ? nil : environment(name)
    }
    let alone = try options(environment: withoutPassphrase) { $0.store.place = store.place }
    let options = try options(environment: environment) { kistd in
      kistd.store = store
      kistd.strength = strength
    }
    let newPassphrase = try descriptor(newPassphraseFd, of: "--new-passphrase-fd")
    try refuseOneDescriptor(for: options.keySource.descriptor, and: newPassphrase)
    return (options, alone.keySource.keyFile, newPassphrase)
  }
}

extension Options.KeySource {
  fileprivate var keyFile: String? {
    if case .file(let path) = self { path } else { nil }
  }
}
