package import KistCore
internal import KistSodium
internal import KistVault

/// Unwraps the master key of a store; throws `locked` when the required key is not available.
func masterKey(
  from source: EncryptedFile.KeySource, _ slots: [KeySlot], storeID: [UInt8]
) throws(StorageError) -> GuardedKey {
  guard slots.contains(where: \.isKnown) else { throw .onlyUnknownSlots }
  switch source {
  case .none:
    throw .withoutPassphrase
  case .keyFile(let path):
    guard slots.openWithKeyFile else { throw .withoutPassphrase }
    let key = try KeyFile.read(path)
    if let key, let master = try openSlot(with: key, among: slots, storeID: storeID) {
      return master
    }
    // A change of the key file may have been interrupted.
    if let next = try KeyFile.read(KeyFileChange(of: path, for: storeID).next),
      let master = try openSlot(with: next, among: slots, storeID: storeID)
    {
      return master
    }
    let otherwise =
      slots.openWithPassphrase ? "; or give `kist unlock` the passphrase" : ""
    guard key != nil else {
      throw .locked(
        "the store's key file \(path) is missing",
        hint:
          "put it back, then `kist unlock`; if its directory was missing, too, start kistd again"
          + otherwise)
    }
    throw .locked(
      "the key file \(path) does not open this store",
      hint:
        "name the store's own one to kistd with `--key-file`; keep this one, which may be all that "
        + "opens another store\(otherwise)")
  case .passphraseFile(let path):
    guard let passphrase = try PassphraseFile.read(path) else {
      throw .locked(
        "the file with the store's passphrase, \(path), is missing",
        hint: "put it back, then `kist unlock`; or give `kist unlock` the passphrase")
    }
    do throws(StorageError) {
      return try masterKey(from: .passphrase(passphrase), slots, storeID: storeID)
    } catch {
      guard error.code == .wrongPassphrase else { throw error }
      throw .locked(
        "the passphrase in \(path) does not open this store",
        hint: "put the store's own passphrase there, then `kist unlock`")
    }
  case .passphrase(let passphrase):
    return try openSlot(with: passphrase, among: slots, storeID: storeID).master
  }
}

extension EncryptedFile.Options {
  /// Throws for a passphrase that a new store would refuse, before anything is created.
  package func checkFirstPassphrase() throws(StorageError) {
    let passphrase: Secret? =
      switch keySource {
      case .passphrase(let passphrase): passphrase
      case .passphraseFile(let path): try PassphraseFile.read(path)
      case .keyFile, .none: nil
      }
    if let passphrase {
      try checkNewPassphrase(passphrase, allowsWeak: allowsWeakPassphrase)
    }
  }

  /// The options without the passphrase, which is not kept.
  var withoutPassphrase: Self {
    var options = self
    if case .passphrase = keySource { options.keySource = .none }
    return options
  }
}

extension StorageError {
  fileprivate static var withoutPassphrase: StorageError {
    .locked(
      "the store needs its passphrase",
      hint: "unlock it with `kist unlock`, or start kistd with `--passphrase-fd`")
  }

  fileprivate static var onlyUnknownSlots: StorageError {
    .locked(
      "all key slots of the store are of kinds that this version of kistd does not know",
      hint: "update kistd")
  }
}
