internal import KistCore
internal import KistSodium

/// The master key, wrapped under another key: one way to open the store.
struct KeySlot: Equatable, Sendable {
  /// Where the key that opens it comes from.
  enum Kind: Equatable, Sendable {
    /// 32 random bytes in a file.
    case keyFile
    /// A passphrase, stretched at this cost with this salt.
    case passphrase(KDFCost, salt: [UInt8])
  }

  /// Which of the slots it is.
  let number: UInt32
  let kind: Kind
  /// The sealed master key.
  let wrapped: [UInt8]

  // Kind, passes, KiB, salt; the wrapped key; the checksum.
  private static let parametersSize = 4 + 4 + 4 + KDFCost.saltSize
  private static let wrappedSize =
    SymmetricKey.nonceSize + GuardedKey.size + SymmetricKey.tagSize
  private static let checksumSize = 16

  /// Wraps a master key.
  init(
    number: UInt32, kind: Kind, wrapping master: GuardedKey, under key: SymmetricKey,
    storeID: [UInt8], nonce: [UInt8]
  ) {
    self.number = number
    self.kind = kind
    let associatedData = Self.associatedData(number, kind, storeID: storeID)
    wrapped = master.withBytes { key.seal($0, for: associatedData.span, nonce: nonce) }
  }

  /// The master key, or `nil` when this is not the key that it was wrapped under.
  func unwrap(with key: SymmetricKey, storeID: [UInt8]) throws(StorageError) -> GuardedKey? {
    let associatedData = Self.associatedData(number, kind, storeID: storeID)
    guard let master = key.open(wrapped.span, for: associatedData.span) else { return nil }
    return try master.withBytes { master throws(StorageError) in try GuardedKey(copying: master) }
  }
}

extension [KeySlot] {
  /// Whether the key of a file opens one of them.
  var openWithKeyFile: Bool { contains { $0.kind == .keyFile } }

  /// Whether a passphrase opens one of them.
  var openWithPassphrase: Bool { contains { $0.kind != .keyFile } }
}

extension KeySlot {
  /// The slot as it lies in the file.
  func encoded(storeID: [UInt8]) -> [UInt8] {
    let body = Self.parameters(of: kind) + wrapped
    return body + Self.checksum(of: body, number, storeID: storeID)
  }

  /// Reads a slot; `corrupt` when it is damaged or asks for more than may be given.
  init(decoding bytes: [UInt8], number: UInt32, storeID: [UInt8]) throws(StorageError) {
    let body = Array(bytes.dropLast(Self.checksumSize))
    guard
      body.count == Self.parametersSize + Self.wrappedSize,
      bytes.suffix(Self.checksumSize).elementsEqual(
        Self.checksum(of: body, number, storeID: storeID))
    else { throw .corrupt("a key slot is damaged") }
    var reader = ByteReader()
    let kind = try reader.integer(UInt32.self, from: body.span)
    let cost = KDFCost(
      passes: try reader.integer(from: body.span), kibibytes: try reader.integer(from: body.span))
    let salt = try reader.bytes(KDFCost.saltSize, from: body.span)
    self.number = number
    wrapped = try reader.bytes(Self.wrappedSize, from: body.span)
    switch kind {
    case 1:
      self.kind = .keyFile
      // What stands there is bound to the master key as zeros.
      guard body.starts(with: Self.parameters(of: .keyFile)) else {
        throw .corrupt("a key slot is damaged")
      }
    case 2:
      guard cost.isAcceptable else {
        throw .corrupt("a key slot asks for more memory or time than any that kist writes")
      }
      self.kind = .passphrase(cost, salt: salt)
    default: throw .corrupt("a key slot is of an unknown kind")
    }
  }

  /// As many slots of passphrases a store may have.
  static let mostPassphrases = 8

  /// Throws `corrupt` when to try one passphrase in all slots would cost more than in the dearest
  /// one that is allowed, or there are more than that for passphrases: anyone can forge a slot, and it
  /// is known for forged only after another has opened.
  static func checkTotalCost(of slots: [KeySlot]) throws(StorageError) {
    let work = slots.compactMap { slot in
      if case .passphrase(let cost, _) = slot.kind { cost.work } else { nil }
    }
    guard work.count <= mostPassphrases, work.reduce(0, +) <= KDFCost.greatest.work else {
      throw .corrupt("the key slots together ask for more time than any that kist writes")
    }
  }

  /// The hash of all slots that the header keeps.
  static func hash(of slots: [KeySlot], storeID: [UInt8]) -> [UInt8] {
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
