internal import KistCore
internal import KistFile

/// `kistd restore`: makes the encrypted file of a backup, as a first start would make it, and gives the
/// exit status.
func restore(
  _ arguments: [String], environment: @Sendable (String) -> String?
) throws(StorageError) -> CInt {
  let command = try parse(RestoreCommand.self, arguments)
  let (options, descriptor) = try command.options(environment: environment)
  let keySource = command.verify ? .none : try EncryptedFile.KeySource(options)
  let backup = EncryptedFile.BackupFile(
    path: command.file,
    passphrase: { () throws(StorageError) in try passphraseOfBackup(from: descriptor) })
  if command.verify {
    let count = try EncryptedFile.verify(backup) { showProgress("read", $0, $1) }
    tell("\(command.file) is whole: \(counted(count))")
    return 0
  }
  let pinFile = PinFile(path: options.pinFile)
  _ = try pinFile.readOfEncryptedFile(orElse: otherPlaceHint)
  let (id, count) = try EncryptedFile.restore(
    backup, to: EncryptedFile.Options(path: options.storePath, keySource: keySource),
    willSwitch: { id throws(StorageError) in
      // What was kept before is gone; a first one is written down once it is there.
      guard let pin = try pinFile.readOfEncryptedFile(orElse: otherPlaceHint) else { return }
      try pinFile.write(
        Pin(kind: .encryptedFile, storeID: pin.storeID, nextStoreID: id), insteadOf: pin)
    },
    reading: { showProgress("read", $0, $1) }, copying: { showProgress("copied", $0, $1) })
  try pinFile.write(Pin(kind: .encryptedFile, storeID: id), insteadOf: try pinFile.read())
  tell("restored \(counted(count)) into \(options.storePath), which \(options.opening)")
  return 0
}

private let otherPlaceHint = "name a directory for the restored store with --data"

private func passphraseOfBackup(from descriptor: CInt) throws(StorageError) -> Secret {
  let passphrase = try readPassphrase(.ofBackup, from: descriptor)
  guard !passphrase.isEmpty else {
    throw StorageError(
      .badRequest, "the passphrase of the backup is missing",
      hint: "nothing was made; type it at the prompt, or pipe it in", outcome: .unchanged)
  }
  return passphrase
}

extension Options {
  /// How the store is opened, in a clause.
  fileprivate var opening: String {
    switch keySource {
    case .file(let path): "its key \(path) opens: keep a copy of the key elsewhere"
    case .passphraseFile, .passphrase: "its passphrase opens"
    }
  }
}
