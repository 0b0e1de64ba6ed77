internal import ArgumentParser
internal import KistCore

/// The flags of `kistd fsck` as typed.
struct FsckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd fsck",
    abstract:
      "Look for damage in the encrypted file, while no kistd has it open; change nothing.",
    usage: "kistd fsck [--salvage DIRECTORY] [OPTIONS]")

  @Option(
    help: ArgumentHelp(
      "Copy what is whole into a new store in this directory.", valueName: "directory"))
  var salvage: String?

  @Flag(help: "Print JSON, one object on a line.")
  var json = false

  @OptionGroup var store: StoreOptions

  /// Returns the options of a kistd with these flags.
  func options(environment: (String) -> String?) throws(StorageError) -> Options {
    if salvage?.isEmpty == true {
      throw .wrongUsage("--salvage is empty; it must be a path", of: Self.self)
    }
    return try options(environment: environment) { $0.store = store }
  }
}
