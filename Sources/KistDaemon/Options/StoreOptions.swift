internal import ArgumentParser

/// The flags that say where the encrypted file and its key are.
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

/// The flags that say where the encrypted file is and what opens it.
struct StoreOptions: ParsableArguments {
  @OptionGroup var place: StorePlace

  @Option(
    help: ArgumentHelp(
      "A descriptor to read the store's passphrase from, in place of a key file.",
      valueName: "number"))
  var passphraseFd: String?
}

/// The flags that say how a storage is used.
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
