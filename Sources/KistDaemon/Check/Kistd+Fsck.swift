internal import KistCore
internal import KistFile

/// `kistd fsck`: says what is wrong with the encrypted file, and gives the exit status: 0 where nothing
/// is, 10 where something is, 5 or 11 where nothing was seen to be and the key was not to be had.
func fsck(
  _ arguments: [String], environment: @Sendable (String) -> String?
) throws(StorageError) -> CInt {
  let command = try parse(FsckCommand.self, arguments)
  let options = try command.options(environment: environment)
  let report: FsckReport
  do throws(StorageError) {
    // First, so that nobody types a passphrase for nothing.
    try EncryptedFile.requireStore(at: options.storePath)
    report = try FsckReport(
      of: options.storePath, keySource: try EncryptedFile.KeySource(options),
      salvage: command.salvage)
  } catch {
    if error.code == .notFound {
      _ = try PinFile(path: options.pinFile)
        .readOfEncryptedFile(orElse: "name the directory of a store with --data")
    }
    throw error
  }
  if command.json { print(report.json) } else { report.lines.forEach(tell) }
  return report.exitStatus
}

extension FsckReport {
  /// Looks at a store, and salvages what is whole into a directory where one is named.
  fileprivate init(
    of store: String, keySource: EncryptedFile.KeySource, salvage directory: String?
  ) throws(StorageError) {
    guard let directory else {
      let examination = try EncryptedFile.examine(path: store, keySource: keySource)
      self.init(store: store, examination: examination)
      return
    }
    do throws(StorageError) {
      let salvage = try EncryptedFile.salvage(
        path: store, keySource: keySource,
        to: EncryptedFile.Options(path: directory + "/credentials.db", keySource: keySource))
      self.init(
        store: store, examination: salvage.examination,
        copies: Copies(count: salvage.copied, directory: directory))
    } catch { throw error.withoutKistd }
  }
}
