internal import ArgumentParser
internal import KistCore
internal import KistFile

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

/// Runs `kistd fsck`: reports damage in the encrypted file, and returns the exit status.
///
/// - 0: nothing is wrong.
/// - 10: something is wrong.
/// - 5 or 11: nothing wrong was found, but the key was not available.
func fsck(
  _ arguments: [String], environment: @Sendable (String) -> String?
) throws(StorageError) -> CInt {
  let command = try parse(FsckCommand.self, arguments)
  let options = try command.options(environment: environment)
  let report: FsckReport
  do throws(StorageError) {
    // Comes first, so that the user does not type a passphrase in vain.
    try EncryptedFile.requireStore(at: options.storePath)
    report = try FsckReport(
      of: options.storePath, keySource: try EncryptedFile.KeySource(options),
      progress: EncryptedFile.ProgressOptions(options, logger: .kistd(level: options.logLevel)),
      salvage: command.salvage)
  } catch {
    if error.code == .notFound {
      _ = try PinFile(path: options.pinFile)
        .read(of: .encryptedFile, orElse: "name the directory of a store with --data")
    }
    throw error
  }
  if command.json { printJSON(report.json) } else { report.lines.forEach(printLine) }
  return report.exitStatus
}

extension FsckReport {
  /// Examines a store, and salvages its undamaged part into a directory if one is given.
  fileprivate init(
    of store: String, keySource: EncryptedFile.KeySource,
    progress: EncryptedFile.ProgressOptions?, salvage directory: String?
  ) throws(StorageError) {
    guard let directory else {
      let examination = try EncryptedFile.examine(
        path: store, keySource: keySource, progress: progress)
      self.init(store: store, examination: examination)
      return
    }
    var options = EncryptedFile.Options(
      path: directory + "/credentials.db", keySource: keySource, progress: progress)
    // The passphrase of the damaged store opens the new one.
    options.allowsWeakPassphrase = true
    do throws(StorageError) {
      let salvage = try EncryptedFile.salvage(path: store, keySource: keySource, to: options)
      self.init(
        store: store, examination: salvage.examination,
        copies: Copies(count: salvage.copied, directory: directory))
    } catch { throw error.withoutKistd }
  }
}
