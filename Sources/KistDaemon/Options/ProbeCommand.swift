internal import ArgumentParser
internal import KistCore

/// The flags of `kistd probe` as typed.
struct ProbeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd probe",
    abstract:
      "Tell which storage kistd would open, and why; no credential is looked at or changed.",
    usage: "kistd probe [OPTIONS]")

  @Flag(help: "Print JSON, one object on a line.")
  var json = false

  @Option(
    help: ArgumentHelp("auto, libsecret (the keyring) or encrypted-file; auto.", valueName: "kind"))
  var storage: String?

  @OptionGroup var store: StoreOptions

  /// Returns the options of a kistd with these flags.
  func options(environment: (String) -> String?) throws(StorageError) -> Options {
    try options(environment: environment) { kistd in
      kistd.storage = storage
      kistd.store = store
    }
  }
}
