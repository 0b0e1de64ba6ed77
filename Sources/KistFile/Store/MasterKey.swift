internal import KistCore
internal import KistSodium

/// Unwraps the master key of a store; `locked` when the key that it needs is not at hand.
func masterKey(
  from source: EncryptedFile.KeySource, _ slots: [KeySlot], storeID: [UInt8]
) throws(StorageError) -> GuardedKey {
  switch source {
  case .none:
    throw .withoutPassphrase
  case .keyFile(let path):
    guard slots.openWithKeyFile else { throw .withoutPassphrase }
    let key = try KeyFile.read(path)
    if let key, let master = try openSlot(with: key, among: slots, storeID: storeID) {
      return master
    }
    // Where a change of the key file was cut off.
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
        hint: "put it back, then `kist unlock`\(otherwise)")
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

/// The master key, from the slot that the key of a file opens, if one does.
func openSlot(
  with key: GuardedKey, among slots: [KeySlot], storeID: [UInt8]
) throws(StorageError) -> GuardedKey? {
  let wrapping = try wrappingKey(from: key)
  for slot in slots where slot.kind == .keyFile {
    if let master = try slot.unwrap(with: wrapping, storeID: storeID) { return master }
  }
  return nil
}

/// Finds the slot that a passphrase opens.
func openSlot(
  with passphrase: Secret, among slots: [KeySlot], storeID: [UInt8]
) throws(StorageError) -> (number: UInt32, master: GuardedKey) {
  try checkPassphrase(passphrase)
  for slot in slots {
    guard case .passphrase(let cost, let salt) = slot.kind else { continue }
    let wrapping = try SymmetricKey(stretching: passphrase, salt: salt.span, cost: cost)
    if let master = try slot.unwrap(with: wrapping, storeID: storeID) {
      return (slot.number, master)
    }
  }
  guard slots.openWithPassphrase else {
    throw StorageError(
      .wrongPassphrase, "the store has no passphrase",
      hint: "it opens with its key file: give no passphrase")
  }
  throw .wrongPassphrase
}

extension KeySlot {
  /// Wraps a master key under a new passphrase.
  init(
    number: UInt32, passphrase: Secret, wrapping master: GuardedKey, storeID: [UInt8],
    _ options: EncryptedFile.Options
  ) throws(StorageError) {
    try checkPassphrase(passphrase)
    let salt = randomBytes(KDFCost.saltSize)
    let key = try SymmetricKey(
      stretching: passphrase, salt: salt.span, cost: options.passphraseCost)
    self.init(
      number: number, kind: .passphrase(options.passphraseCost, salt: salt), wrapping: master,
      under: key, storeID: storeID, nonce: options.nonces(1))
  }
}

/// The key that the slot of a key file is sealed under.
func wrappingKey(from keyFile: GuardedKey) throws(StorageError) -> SymmetricKey {
  try SymmetricKey(derivedFrom: keyFile, id: 1, context: KeyContext("kistslot"))
}

/// Refuses a passphrase that no store has.
func checkPassphrase(_ passphrase: Secret) throws(StorageError) {
  if passphrase.isEmpty {
    throw StorageError(
      .badRequest, "the passphrase is empty", hint: "give one that has at least one character")
  }
  if passphrase.count > Limits.passphrase {
    throw .tooLarge("the passphrase", limit: Limits.passphrase, size: passphrase.count)
  }
}

extension EncryptedFile.Options {
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
}
