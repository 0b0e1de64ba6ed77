package import KistCore
package import KistSodium

/// Returns the master key from the slot that a key file opens, or `nil` if there is none.
package func openSlot(
  with key: GuardedKey, among slots: [KeySlot], storeID: [UInt8]
) throws(StorageError) -> GuardedKey? {
  let wrapping = try wrappingKey(from: key)
  for slot in slots where slot.kind == .keyFile {
    if let master = try slot.unwrap(with: wrapping, storeID: storeID) { return master }
  }
  return nil
}

/// Returns the slot that a passphrase opens, and the master key.
package func openSlot(
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
  /// Wraps a master key under a key file.
  package init(
    number: UInt32, keyFile: GuardedKey, wrapping master: GuardedKey, storeID: [UInt8],
    nonce: [UInt8]
  ) throws(StorageError) {
    self.init(
      number: number, kind: .keyFile, wrapping: master, under: try wrappingKey(from: keyFile),
      storeID: storeID, nonce: nonce)
  }

  /// Wraps a master key under a passphrase, stretched at this cost.
  package init(
    number: UInt32, passphrase: Secret, cost: KDFCost, wrapping master: GuardedKey,
    storeID: [UInt8], nonce: [UInt8]
  ) throws(StorageError) {
    let salt = randomBytes(KDFCost.saltSize)
    let key = try SymmetricKey(stretching: passphrase, salt: salt.span, cost: cost)
    self.init(
      number: number, kind: .passphrase(cost, salt: salt), wrapping: master, under: key,
      storeID: storeID, nonce: nonce)
  }
}

/// Returns the key that seals the slot of a key file.
private func wrappingKey(from keyFile: GuardedKey) throws(StorageError) -> SymmetricKey {
  try SymmetricKey(derivedFrom: keyFile, id: 1, context: KeyContext("kistslot"))
}

/// Throws for an empty or too long passphrase.
private func checkPassphrase(_ passphrase: Secret) throws(StorageError) {
  if passphrase.isEmpty {
    throw StorageError(
      .badRequest, "the passphrase is empty", hint: "give one that has at least one character")
  }
  if passphrase.count > Limits.passphrase {
    throw .tooLarge("the passphrase", limit: Limits.passphrase, size: passphrase.count)
  }
}

/// Throws for an empty or too long new passphrase, and for a short one unless weak ones are
/// allowed.
package func checkNewPassphrase(_ passphrase: Secret, allowsWeak: Bool) throws(StorageError) {
  try checkPassphrase(passphrase)
  guard allowsWeak || passphrase.count >= Limits.shortestNewPassphrase else {
    throw StorageError(
      .badRequest, "the new passphrase has fewer than \(Limits.shortestNewPassphrase) bytes",
      hint: "choose a longer one, or allow it with `--weak`; nothing was changed",
      outcome: .unchanged)
  }
}
