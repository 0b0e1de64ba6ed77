internal import ArgumentParser
internal import KistCore

/// The flags of `kistd migrate` as typed.
struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd migrate",
    abstract: "Move all credentials to another storage; kistd must not be running.",
    usage: "kistd migrate --to KIND [OPTIONS]")

  @Option(
    help: ArgumentHelp("Where to: libsecret (the keyring) or encrypted-file.", valueName: "kind"))
  var to: String

  @OptionGroup var store: StoreOptions

  @OptionGroup var strength: WeakOption

  @OptionGroup var use: UseOptions

  /// Returns the target storage, and the options of a kistd with these flags.
  func options(
    environment: (String) -> String?
  ) throws(StorageError) -> (kind: StorageKind, Options) {
    guard let kind = StorageKind(rawValue: to) else {
      throw .wrongUsage("--to must be libsecret or encrypted-file", of: Self.self)
    }
    let options = try options(environment: environment) { kistd in
      kistd.store = store
      kistd.strength = strength
      kistd.use = use
    }
    return (kind, options)
  }
}
