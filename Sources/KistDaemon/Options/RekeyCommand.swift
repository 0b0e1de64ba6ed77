internal import ArgumentParser
internal import KistCore

/// The flags of `kistd rekey` as they are typed.
struct RekeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd rekey",
    abstract: "Give the encrypted file a new key; kistd must not be running.",
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

  @Flag(help: "Leave out the ways in that nothing was given for.")
  var dropOthers = false

  @OptionGroup var store: StoreOptions

  /// How kistd would be run with these flags, and which key file it would take without a passphrase.
  func options(
    environment: (String) -> String?
  ) throws(StorageError) -> (options: Options, keyFile: String?, newPassphrase: CInt?) {
    do {
      var kistd = try Kistd.parse([])
      kistd.store = store
      let options = try kistd.options(environment: environment)
      kistd.store.passphraseFd = nil
      let withoutPassphrase = try kistd.options { name in
        name == "KISTD_PASSPHRASE_FD" ? nil : environment(name)
      }
      return (
        options, withoutPassphrase.keySource.keyFile,
        try descriptor(newPassphraseFd, of: "--new-passphrase-fd")
      )
    } catch { throw usageError(error, of: Self.self) }
  }
}

extension Options.KeySource {
  fileprivate var keyFile: String? {
    if case .file(let path) = self { path } else { nil }
  }
}
