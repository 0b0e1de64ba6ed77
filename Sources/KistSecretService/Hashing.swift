internal import KistCore
internal import KistInterop
internal import KistSodium

/// Keyed hashes of names: of attributes for the index, and of credentials for paths.
struct Hashing: Sendable {
  private let index: SymmetricKey
  private let seal: SymmetricKey
  private let paths: [UInt8]

  /// - Parameter machine: Bytes that are the same at each start on this machine, so that the paths
  ///   of items are, too.
  init(machine: [UInt8]) throws(StorageError) {
    let key = try GuardedKey.random()
    index = try SymmetricKey(derivedFrom: key, id: 1, context: "kistindx")
    seal = try SymmetricKey(derivedFrom: key, id: 2, context: "kistindx")
    paths = machine
  }

  func hash(attribute name: String, _ value: String) -> UInt64 {
    hash([name, value], separator: 0)
  }

  /// Returns the hash of an item's attributes and its collection.
  func hash(_ attributes: Attributes, in collection: String) -> UInt64 {
    hash([collection] + attributes.sorted.flatMap { [$0, $1] }, separator: 0)
  }

  func hash(_ key: CredentialKey) -> UInt64 {
    hash(["", key.service, key.account], separator: 0xFF)
  }

  func hash(_ revision: Revision) -> UInt64 { hash(["", "", revision.rawValue], separator: 0xFF) }

  /// Returns the identifier of an item, from its key and its creation.
  ///
  /// It stays the same when the item is replaced. `round` is counted up if another item has it.
  func identifier(of summary: CredentialSummary, round: Int) -> UInt64 {
    var bytes = WipedBytes(capacity: 256)
    for byte in paths { bytes.append(byte) }
    let creation = "\(summary.createdAt.secondsSinceEpoch) \(round)"
    for text in [
      summary.key.service, summary.key.account, creation,
      summary.attributes[Attributes.itemMark] ?? "",
    ] {
      bytes.append(utf8: text)
      bytes.append(0xFF)
    }
    return bytes.withBytes {
      blake2b($0, count: 16).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// Encrypts a key of a credential; `number` must differ each time.
  func sealed(_ key: CredentialKey, number: UInt64) -> [UInt8] {
    var bytes = WipedBytes(capacity: key.service.utf8.count + key.account.utf8.count + 1)
    bytes.append(utf8: key.service)
    bytes.append(0xFF)
    bytes.append(utf8: key.account)
    return bytes.withBytes { seal.masked($0, nonce: nonce(number)) }
  }

  func opened(_ sealed: ArraySlice<UInt8>, number: UInt64) -> CredentialKey {
    let bytes = seal.masked(sealed.span, nonce: nonce(number))
    let end = bytes.firstIndex(of: 0xFF) ?? bytes.count
    return CredentialKey(
      service: String(repairing: bytes.span.extracting(..<end)),
      account: String(repairing: bytes.span.extracting((end + 1)...)))
  }

  private func nonce(_ number: UInt64) -> [UInt8] {
    (0..<SymmetricKey.nonceSize).map {
      $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) : 0
    }
  }

  private func hash(_ texts: [String], separator: UInt8) -> UInt64 {
    var bytes = WipedBytes(capacity: 256)
    for text in texts {
      bytes.append(utf8: text)
      bytes.append(separator)
    }
    return bytes.withBytes { index.shortHash($0) }
  }
}
