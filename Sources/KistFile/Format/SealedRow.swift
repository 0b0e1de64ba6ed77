internal import KistCore
internal import KistSodium

/// A credential as it lies in the file.
struct SealedRow: Sendable {
  var tag: RowTag
  /// The number of the change that wrote it.
  var sequence: UInt64
  var metadata: [UInt8]
  var secret: [UInt8]
}

extension StoreKeys {
  func seal(
    _ metadata: Metadata, _ secret: Secret, at tag: RowTag, sequence: UInt64,
    nonces: () -> [UInt8]
  ) -> SealedRow {
    var secretBytes = WipedBytes(capacity: paddedSize(secret.count + 4))
    secret.withBytes { secretBytes.append($0) }
    return SealedRow(
      tag: tag, sequence: sequence,
      metadata: self.metadata.seal(
        metadata.encoded(), at: tag, sequence: sequence, nonce: nonces()),
      secret: secrets.seal(secretBytes, at: tag, sequence: sequence, nonce: nonces()))
  }

  /// The metadata of a row; `corrupt` when it is not authentic.
  func openMetadata(_ sealed: Span<UInt8>, at tag: RowTag, sequence: UInt64) throws(StorageError)
    -> Metadata
  {
    try metadata.open(sealed, at: tag, sequence: sequence)
      .withBytes { bytes throws(StorageError) in try Metadata(decoding: bytes) }
  }

  /// The secret of a row; `corrupt` when it is not authentic.
  func openSecret(_ sealed: Span<UInt8>, at tag: RowTag, sequence: UInt64) throws(StorageError)
    -> Secret
  {
    Secret(try secrets.open(sealed, at: tag, sequence: sequence))
  }

  /// When a row was made whose metadata and secret are authentic; `corrupt` when either is not.
  func authenticate(
    _ metadata: Span<UInt8>, _ secret: Span<UInt8>, at tag: RowTag, sequence: UInt64
  ) throws(StorageError) -> Timestamp {
    try secrets.authenticate(secret, at: tag, sequence: sequence)
    return try self.metadata.open(metadata, at: tag, sequence: sequence)
      .withBytes { bytes throws(StorageError) in try Metadata.createdAt(decoding: bytes) }
  }

  /// What a row adds to the header's sum: its hash over both its tags, its
  /// sequence and the ends of what is sealed, and not over its address.
  func hash(of row: SealedRow) -> RowSum {
    hash(
      tag: row.tag, sequence: row.sequence, metadata: row.metadata.span, secret: row.secret.span)
  }

  /// The same, of a row whose sealed metadata and secret, or the ends of them, are lent.
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
