internal import KistCore
internal import KistSodium

/// A credential as stored in the file.
struct SealedRow: Equatable, Sendable {
  var tag: RowTag
  /// The number of the change that wrote the row.
  var sequence: UInt64
  var metadata: [UInt8]
  var secret: [UInt8]

  /// The parts of a row that a save keeps when it replaces the row.
  struct Kept: Sendable {
    let createdAt: Timestamp
    /// The fields stored with the metadata.
    let fields: Fields?
    /// The fields stored with the secret.
    let secretFields: Fields?

    /// Whether this version must not replace the row.
    var forbidsChange: Bool {
      fields?.forbidsChange == true || secretFields?.forbidsChange == true
    }
  }
}

extension StoreKeys {
  /// Seals a row.
  ///
  /// - Parameter fields: the fields stored with the secret; the metadata must say whether there are
  ///   any.
  func seal(
    _ metadata: Metadata, _ secret: Secret, _ fields: Fields?, at tag: RowTag, sequence: UInt64,
    _ nonces: inout Nonces
  ) -> SealedRow {
    precondition(metadata.secretHasFields == (fields != nil), "the fields would not be found")
    var secretBytes = WipedBytes(capacity: paddedSize(secret.count + 4))
    secret.withBytes { secretBytes.append($0) }
    if let fields { secretBytes.appendWithSize(fields) }
    return SealedRow(
      tag: tag, sequence: sequence,
      metadata: self.metadata.seal(
        metadata.encoded(), at: tag, sequence: sequence, nonce: nonces.next()),
      secret: secrets.seal(secretBytes, at: tag, sequence: sequence, nonce: nonces.next()))
  }

  /// Opens the metadata of a row; throws `corrupt` when it is not authentic or exceeds the limits.
  ///
  /// - Parameter knowsKey: whether the caller found the row by the tag of its key, which is then
  ///   within the limits.
  func openMetadata(
    _ sealed: Span<UInt8>, at tag: RowTag, sequence: UInt64, knowsKey: Bool = false
  ) throws(StorageError) -> Metadata {
    try metadata.open(sealed, at: tag, sequence: sequence)
      .withBytes { bytes throws(StorageError) in try Metadata(decoding: bytes, knowsKey: knowsKey) }
  }

  /// Opens only the key in the metadata of a row, even if other parts exceed the limits.
  ///
  /// Throws `corrupt` when the metadata is not authentic.
  func openKey(_ sealed: Span<UInt8>, at tag: RowTag, sequence: UInt64) throws(StorageError)
    -> CredentialKey
  {
    try metadata.open(sealed, at: tag, sequence: sequence)
      .withBytes { bytes throws(StorageError) in try Metadata.key(decoding: bytes) }
  }

  /// Opens the secret of a row and its fields; throws `corrupt` when it is not authentic or exceeds
  /// the limits.
  ///
  /// - Parameter hasFields: the value in the metadata of the row.
  func openSecret(
    _ sealed: Span<UInt8>, hasFields: Bool, at tag: RowTag, sequence: UInt64
  ) throws(StorageError) -> (secret: Secret, fields: Fields?) {
    var bytes = try secrets.open(sealed, at: tag, sequence: sequence)
    let fields = hasFields ? try bytes.removeFields() : nil
    guard bytes.count <= Limits.secret else { throw .beyondLimits }
    return (Secret(bytes), fields)
  }

  /// Returns the parts of a row that a save keeps.
  ///
  /// Throws `corrupt` when its metadata or its secret is not authentic.
  func authenticate(
    _ metadata: Span<UInt8>, _ secret: Span<UInt8>, at tag: RowTag, sequence: UInt64
  ) throws(StorageError) -> SealedRow.Kept {
    let kept = try self.metadata.open(metadata, at: tag, sequence: sequence)
      .withBytes { bytes throws(StorageError) in try Metadata.kept(decoding: bytes) }
    var secretFields: Fields?
    if kept.secretHasFields {
      secretFields =
        try openSecret(secret, hasFields: true, at: tag, sequence: sequence).fields
    } else {
      try secrets.authenticate(secret, at: tag, sequence: sequence)
    }
    return SealedRow.Kept(
      createdAt: kept.createdAt, fields: kept.fields, secretFields: secretFields)
  }

  /// Returns the hash that a row adds to the header's sum.
  ///
  /// It covers both tags, the sequence and the ends of the sealed parts, but not the address.
  func hash(of row: SealedRow) -> RowSum {
    hash(
      tag: row.tag, sequence: row.sequence, metadata: row.metadata.span, secret: row.secret.span)
  }

  /// Returns the same hash from the sealed metadata and secret of a row, or only their ends.
  func hash(
    tag: RowTag, sequence: UInt64, metadata: Span<UInt8>, secret: Span<UInt8>
  ) -> RowSum {
    var bytes = WipedBytes(capacity: 72)
    bytes.append(tag.service.bytes.span)
    bytes.append(tag.key.bytes.span)
    bytes.append(littleEndian: sequence)
    bytes.append(metadata.extracting(last: SymmetricKey.tagSize))
    bytes.append(secret.extracting(last: SymmetricKey.tagSize))
    return bytes.withBytes { RowSum(of: $0, under: sum) }
  }
}
