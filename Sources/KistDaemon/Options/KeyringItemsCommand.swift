internal import ArgumentParser
internal import KistCore

/// The flags of `kistd keyring-items` as typed.
struct KeyringItemsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd keyring-items",
    abstract: "Print what git, docker, cargo and Python have in the keyring, for `kist import`.",
    usage: "kistd keyring-items [OPTIONS]")

  @Flag(help: "Ask for no password of a keyring that is locked.")
  var noPrompt = false

  @OptionGroup var use: UseOptions

  /// Returns the options of a kistd with these flags.
  func options(environment: (String) -> String?) throws(StorageError) -> Options {
    try options(environment: environment) { $0.use = use }
  }
}
