package import KistCore
package import KistSodium

/// A key slot: the master key of a store, wrapped (encrypted) under the key of a key file or of a
/// passphrase.
package struct KeySlot: Equatable, Sendable {
  /// The source of the key that opens the slot.
  package enum Kind: Equatable, Sendable {
    /// A file of 32 random bytes.
    case keyFile
    /// A passphrase. Its key is derived with Argon2id, at this cost and with this salt.
    case passphrase(KDFCost, salt: [UInt8])
    /// A kind that this version does not know. `body` is the slot without its checksum.
    case unknown(body: [UInt8])
  }

  /// The number of the slot, different from those of the store's other slots.
  package let number: UInt32
  /// The source of the key.
  package let kind: Kind
  /// The sealed master key; empty for an unknown kind.
  let wrapped: [UInt8]

  // The layout: kind, passes, KiB, salt; the wrapped key; the checksum.
  private static let parametersSize = 4 + 4 + 4 + KDFCost.saltSize
  private static let wrappedSize = SymmetricKey.nonceSize + GuardedKey.size + SymmetricKey.tagSize
  private static let checksumSize = 16

  /// The possible sizes in bytes of a slot of any kind.
  static let sizes = 4 + checksumSize...4096
  /// The maximum number of slots in a store.
  package static let most = 64
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

  /// Wraps a master key under a passphrase, with a key derivation of this cost.
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

  private init(
    number: UInt32, kind: Kind, wrapping master: GuardedKey, under key: SymmetricKey,
    storeID: [UInt8], nonce: [UInt8]
  ) {
    (self.number, self.kind) = (number, kind)
    let associatedData = Self.associatedData(number, kind, storeID: storeID)
    wrapped = master.withBytes { key.seal($0, for: associatedData.span, nonce: nonce) }
  }

  /// Returns the master key, or `nil` if this key does not open the slot.
  func unwrap(with key: SymmetricKey, storeID: [UInt8]) throws(StorageError) -> GuardedKey? {
    let associatedData = Self.associatedData(number, kind, storeID: storeID)
    guard let master = key.open(wrapped.span, for: associatedData.span) else { return nil }
    return try master.withBytes { master throws(StorageError) in try GuardedKey(copying: master) }
  }

  /// Whether a passphrase opens the slot.
  package var isPassphrase: Bool { if case .passphrase = kind { true } else { false } }

  /// Whether this version knows the kind of the slot.
  package var isKnown: Bool { if case .unknown = kind { false } else { true } }

  /// Returns the slot as stored in the file.
  package func encoded(storeID: [UInt8]) -> [UInt8] {
    let body = Self.parameters(of: kind) + wrapped
    return body + Self.checksum(of: body, number, storeID: storeID)
  }

  /// Reads a slot; throws `corrupt` if the slot is damaged, or if its cost exceeds the limit.
  package init(decoding bytes: [UInt8], number: UInt32, storeID: [UInt8]) throws(StorageError) {
    let body = Array(bytes.dropLast(Self.checksumSize))
    let checksum = Self.checksum(of: body, number, storeID: storeID)
    guard Self.sizes.contains(bytes.count), bytes.suffix(checksum.count).elementsEqual(checksum)
    else { throw .damagedSlot }
    var reader = ByteReader()
    self.number = number
    let kind = try reader.integer(UInt32.self, from: body.span)
    guard [1, 2].contains(kind) else {
      (self.kind, wrapped) = (.unknown(body: body), [])
      return
    }
    guard body.count == Self.parametersSize + Self.wrappedSize else { throw .damagedSlot }
    let cost = KDFCost(
      passes: try reader.integer(from: body.span), kibibytes: try reader.integer(from: body.span))
    let salt = try reader.bytes(KDFCost.saltSize, from: body.span)
    wrapped = try reader.bytes(Self.wrappedSize, from: body.span)
    if kind == 1 {
      self.kind = .keyFile
      // The cost and the salt of this kind must be zero.
      guard body.starts(with: Self.parameters(of: .keyFile)) else { throw .damagedSlot }
    } else {
      guard cost.isAcceptable else {
        throw .corrupt("the cost of a key slot is outside the limits of kist")
      }
      self.kind = .passphrase(cost, salt: salt)
    }
  }

  /// The maximum number of passphrase slots in a store.
  package static let mostPassphrases = 8

  /// Throws `corrupt` if there are too many passphrase slots, or if their total cost exceeds the
  /// limit.
  ///
  /// The same limit applies to the cost of one slot and to the total.
  ///
  /// An attacker who has no key can still add forged slots. They are detected only after another
  /// slot has opened the store, so trying them must not cost too much.
  package static func checkTotalCost(of slots: [KeySlot]) throws(StorageError) {
    let work = slots.compactMap { slot in
      if case .passphrase(let cost, _) = slot.kind { cost.work } else { nil }
    }
    guard work.count <= mostPassphrases, work.reduce(0, +) <= KDFCost.greatest.work else {
      throw .corrupt("the passphrase slots exceed the limits of kist in number or total cost")
    }
  }

  /// Returns the hash of all slots, which the header contains.
  package static func hash(of slots: [KeySlot], storeID: [UInt8]) -> [UInt8] {
    let bytes = slots.sorted { $0.number < $1.number }.reduce(into: [UInt8]()) { bytes, slot in
      bytes.append(littleEndian: slot.number)
      bytes += slot.encoded(storeID: storeID)
    }
    return blake2b(bytes.span, count: Header.slotsHashSize)
  }

  private static func parameters(of kind: Kind) -> [UInt8] {
    var bytes: [UInt8] = []
    switch kind {
    case .keyFile:
      bytes.append(littleEndian: 1 as UInt32)
      bytes += [UInt8](repeating: 0, count: parametersSize - 4)
    case .passphrase(let cost, let salt):
      bytes.append(littleEndian: 2 as UInt32)
      bytes.append(littleEndian: cost.passes)
      bytes.append(littleEndian: cost.kibibytes)
      bytes += salt
    case .unknown(let body): bytes = body
    }
    return bytes
  }

  private static func associatedData(_ number: UInt32, _ kind: Kind, storeID: [UInt8]) -> [UInt8] {
    var bytes = StoreFormat.associatedData(of: .slot, storeID: storeID)
    bytes.append(littleEndian: number)
    return bytes + parameters(of: kind)
  }

  private static func checksum(of body: [UInt8], _ number: UInt32, storeID: [UInt8]) -> [UInt8] {
    var bytes = storeID
    bytes.append(littleEndian: number)
    bytes += body
    return blake2b(bytes.span, count: checksumSize)
  }
}

extension [KeySlot] {
  /// Whether a key file opens one of the slots.
  package var hasKeyFileSlot: Bool { contains { $0.kind == .keyFile } }

  /// Whether a passphrase opens one of the slots.
  package var hasPassphraseSlot: Bool { contains(where: \.isPassphrase) }
}

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

/// Returns the number of the slot that a passphrase opens, and the master key.
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
  guard slots.hasPassphraseSlot else {
    throw StorageError(
      .wrongPassphrase, "the store has no passphrase",
      hint:
        "its key file opens it: give no passphrase; `kistd --data DIRECTORY` opens another store")
  }
  throw .wrongPassphrase
}

/// Returns the key that seals the slot of a key file.
private func wrappingKey(from keyFile: GuardedKey) throws(StorageError) -> SymmetricKey {
  try SymmetricKey(derivedFrom: keyFile, id: 1, context: "kistslot")
}

/// Throws for an empty or too long passphrase.
private func checkPassphrase(_ passphrase: Secret) throws(StorageError) {
  if passphrase.isEmpty {
    throw StorageError(
      .badRequest, "the passphrase is empty", hint: "give a passphrase with at least one character")
  }
  if passphrase.count > Limits.passphrase {
    throw .tooLarge("the passphrase", limit: Limits.passphrase, size: passphrase.count)
  }
}

/// Throws if a new passphrase is empty, too long, or, unless `allowsWeak` is true, too short.
package func checkNewPassphrase(_ passphrase: Secret, allowsWeak: Bool) throws(StorageError) {
  try checkPassphrase(passphrase)
  guard allowsWeak || passphrase.count >= Limits.shortestNewPassphrase else {
    throw StorageError(
      .badRequest, "the new passphrase has fewer than \(Limits.shortestNewPassphrase) bytes",
      hint: "choose a longer passphrase, or allow a short one with `--weak`; nothing was changed",
      outcome: .unchanged)
  }
}
