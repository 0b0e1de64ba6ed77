internal import ArgumentParser
internal import KistCore

/// The flags for the location of the encrypted file and its key.
struct StorePlace: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The directory of the store; by default $XDG_DATA_HOME/kist.", valueName: "directory"))
  var data: String?

  @Option(
    help: ArgumentHelp(
      "The file of the store's key; by default $XDG_STATE_HOME/kist/key.", valueName: "path"))
  var keyFile: String?
}

/// The flags for the location of the encrypted file and its key or passphrase.
struct StoreOptions: ParsableArguments {
  @OptionGroup var place: StorePlace

  @Option(
    help: ArgumentHelp(
      "A descriptor to read the store's passphrase from, in place of a key file.",
      valueName: "number"))
  var passphraseFd: String?
}

/// The flag for short passphrases.
struct WeakOption: ParsableArguments {
  @Flag(help: "Allow a new passphrase of fewer than \(Limits.shortestNewPassphrase) bytes.")
  var weak = false
}

/// The flags for the use of a storage.
struct UseOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How long a request may take: 30s, 500ms, 2m; 30s.", valueName: "duration"))
  var deadline: String?

  @Option(
    help: ArgumentHelp(
      "trace, debug, info, notice, warning, error or critical; info.", valueName: "level"))
  var logLevel: String?
}
