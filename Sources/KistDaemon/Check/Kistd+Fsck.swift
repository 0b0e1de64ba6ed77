internal import KistCore
internal import KistFile

/// `kistd fsck`: says what is wrong with the encrypted file, and gives the exit status: 0 where nothing
/// is, 10 where something is, 5 or 11 where nothing was seen to be and the key was not to be had.
func fsck(
  _ arguments: [String], environment: @Sendable (String) -> String?
) throws(StorageError) -> CInt {
  let command = try parse(FsckCommand.self, arguments)
  let options = try command.options(environment: environment)
  let keySource = try EncryptedFile.KeySource(options)
  if EncryptedFile.presence(at: options.storePath) == .absent {
    _ = try PinFile(path: options.pinFile)
      .readOfEncryptedFile(orElse: "name the directory of a store with --data")
  }
  let report: FsckReport
  if let directory = command.salvage {
    let salvage: EncryptedFile.Salvage
    do throws(StorageError) {
      salvage = try EncryptedFile.salvage(
        path: options.storePath, keySource: keySource,
        to: EncryptedFile.Options(path: directory + "/credentials.db", keySource: keySource))
    } catch { throw error.withoutKistd }
    report = FsckReport(
      store: options.storePath, examination: salvage.examination,
      copies: .init(count: salvage.copied, directory: directory))
  } else {
    report = FsckReport(
      store: options.storePath,
      examination: try EncryptedFile.examine(path: options.storePath, keySource: keySource))
  }
  if command.json { print(report.json) } else { report.lines.forEach(tell) }
  return report.exitStatus
}
