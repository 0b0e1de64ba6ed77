internal import KistCore
internal import KistFile

/// `kistd rekey`: puts a copy of the encrypted file, under a new key, in its place, and gives the exit
/// status.
func rekey(
  _ arguments: [String], environment: @Sendable (String) -> String?
) throws(StorageError) -> CInt {
  let command = try parse(RekeyCommand.self, arguments)
  let (options, keyFile, newPassphrase) = try command.options(environment: environment)
  let pinFile = PinFile(path: options.pinFile)
  _ = try pinFile.readOfEncryptedFile(orElse: moveHint)
  // First, so that nobody types a passphrase for nothing.
  try EncryptedFile.requireStore(at: options.storePath)
  let keySource = try EncryptedFile.KeySource(options)
  let rekeying = EncryptedFile.Rekeying(
    EncryptedFile.Options(path: options.storePath, keySource: keySource), keyFile: keyFile,
    newPassphrase: try newPassphrase.map { (number) throws(StorageError) in
      try readPassphrase(.newOfStore, from: number)
    },
    dropsOthers: command.dropOthers,
    willSwitch: { old, new throws(StorageError) in
      // Only now does nobody else have the store, and so nobody else writes it down.
      guard let pin = try pinFile.readOfEncryptedFile(orElse: moveHint) else { return }
      guard [pin.storeID, pin.nextStoreID].contains(old) else { throw .anotherStore }
      try pinFile.write(
        Pin(kind: .encryptedFile, storeID: old, nextStoreID: new), insteadOf: pin)
    },
    report: { showProgress("copied", $0, $1) })
  let rekeyed: EncryptedFile.Rekeyed
  do throws(StorageError) { rekeyed = try EncryptedFile.rekey(rekeying) } catch {
    throw error.withoutKistd
  }
  if let pin = try pinFile.readOfEncryptedFile(orElse: moveHint), pin.nextStoreID == rekeyed.id {
    try pinFile.write(Pin(kind: .encryptedFile, storeID: rekeyed.id), insteadOf: pin)
  }
  let lines = rekeyed.lines(
    of: options.storePath, keyFile: keyFile, hasNewPassphrase: newPassphrase != nil)
  for line in lines { tell(line) }
  return 0
}

/// What to do where there is no encrypted file that could have a new key.
private let moveHint =
  "move them with \(StorageKind.encryptedFile.migration); or name another store with --data"

extension EncryptedFile.Rekeyed {
  /// What a person must know of it.
  fileprivate func lines(of store: String, keyFile: String?, hasNewPassphrase: Bool) -> [String] {
    var lines = ["\(store) has a new key: \(counted(count))"]
    if let keyFile, let oldKeyFile {
      lines.append("- the key file \(keyFile) is a new one: keep a copy of it elsewhere")
      lines.append(
        "- the old one is now \(oldKeyFile): it opens copies of the store from before, and other "
          + "stores that were made with it; remove it when there are none")
    }
    if hasPassphrase {
      lines.append("- the passphrase that was given\(hasNewPassphrase ? " as new" : "") opens it")
    }
    if dropped > 0 {
      lines.append(
        "- \(dropped) other way\(dropped == 1 ? "" : "s") in no longer open\(dropped == 1 ? "s" : "") it"
      )
    }
    lines.append(
      "whoever has a copy from before still opens that: change what secrets it has, if need be")
    return lines
  }
}
