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

  /// The metadata of a row whose secret is authentic too; `corrupt` when either is not.
  func authenticate(_ row: SealedRow) throws(StorageError) -> Metadata {
    try secrets.authenticate(row.secret.span, at: row.tag, sequence: row.sequence)
    return try openMetadata(row.metadata.span, at: row.tag, sequence: row.sequence)
  }

  /// What a row adds to the header's sum: its hash over where it stands and both its tags.
  func hash(of row: SealedRow) -> RowSum {
    hash(
      tag: row.tag, sequence: row.sequence, metadataTag: row.metadata.suffix(SymmetricKey.tagSize),
      secretTag: row.secret.suffix(SymmetricKey.tagSize))
  }

  func hash(
    tag: RowTag, sequence: UInt64, metadataTag: some Sequence<UInt8>,
    secretTag: some Sequence<UInt8>
  ) -> RowSum {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(72)
    bytes.append(tag.service.bytes.span)
    bytes.append(tag.key.bytes.span)
    bytes.append(littleEndian: sequence)
    bytes += metadataTag
    bytes += secretTag
    return RowSum(sum.hash(bytes.span, count: RowSum.size))
  }
}
