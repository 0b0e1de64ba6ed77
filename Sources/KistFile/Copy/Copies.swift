internal import KistCore

/// Copies credentials into a store that is being made, under its own keys.
struct Copies {
  private let database: Database
  private let keys: StoreKeys
  private let nonces: () -> [UInt8]
  /// The number of the change that wrote the original of each copy.
  private var originals: [CredentialKey: UInt64] = [:]
  private var sequence: UInt64 = 0

  init(database: Database, keys: StoreKeys, nonces: @escaping () -> [UInt8]) {
    self.database = database
    self.keys = keys
    self.nonces = nonces
  }

  /// Copies a credential, unless a later one with the same key was copied.
  mutating func keep(_ row: OpenedRow) throws(StorageError) {
    let key = row.metadata.key
    if let original = originals[key], original > row.sequence { return }
    originals[key] = row.sequence
    try put(row)
  }

  /// Copies a credential, replacing one with the same key.
  mutating func put(_ row: OpenedRow) throws(StorageError) {
    sequence += 1
    let tag = keys.tag(of: row.metadata.key)
    try database.put(
      keys.seal(
        row.metadata, row.secret, row.secretFields, at: tag, sequence: sequence, nonces: nonces),
      at: try database.lookUp(tag) { _, _, _ in }.address)
  }

  /// Updates the header from the copied rows and returns the number of credentials.
  func finish(_ header: inout Header) throws(StorageError) -> Int {
    header.sequence = sequence
    try database.eachRowMark { _, tag, sequence, metadataTag, secretTag in
      header.count += 1
      header.sum += keys.hash(
        tag: tag, sequence: sequence, metadata: metadataTag.span, secret: secretTag.span)
      return .more
    }
    return Int(clamping: header.count)
  }
}
