internal import KistCore
internal import KistFile

/// Runs `kistd restore`, and returns the exit status.
///
/// It makes the encrypted file of a backup, as a first start would make it.
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
    backup, to: options.ofEncryptedFile(keySource),
    willSwitch: { id throws(StorageError) in
      // An existing pin names a store that is gone. A first pin is written when the store exists.
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
  /// The clause that says how the store is opened.
  fileprivate var opening: String {
    switch keySource {
    case .file(let path): "its key \(path) opens: keep a copy of the key elsewhere"
    case .passphraseFile, .passphrase: "its passphrase opens"
    }
  }
}
