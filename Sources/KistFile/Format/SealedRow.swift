internal import KistCore
internal import KistSodium

/// A credential as it lies in the file.
struct SealedRow: Equatable, Sendable {
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
    var metadataBytes = metadata.encoded()
    metadataBytes.pad()
    var secretBytes = WipedBytes(capacity: paddedSize(secret.count + 4))
    secret.withBytes { secretBytes.append($0) }
    secretBytes.pad()
    let metadataFor = associatedData(of: .metadata, tag: tag, sequence: sequence)
    let secretFor = associatedData(of: .secret, tag: tag, sequence: sequence)
    return SealedRow(
      tag: tag, sequence: sequence,
      metadata: metadataBytes.withBytes {
        self.metadata.seal($0, for: metadataFor.span, nonce: nonces())
      },
      secret: secretBytes.withBytes { secrets.seal($0, for: secretFor.span, nonce: nonces()) })
  }

  /// The metadata of a row; `corrupt` when it is not authentic.
  func openMetadata(_ sealed: [UInt8], at tag: RowTag, sequence: UInt64) throws(StorageError)
    -> Metadata
  {
    let associatedData = associatedData(of: .metadata, tag: tag, sequence: sequence)
    guard var bytes = metadata.open(sealed.span, for: associatedData.span) else {
      throw .unauthenticRow
    }
    try bytes.unpad()
    return try bytes.withBytes { bytes throws(StorageError) in try Metadata(decoding: bytes) }
  }

  /// The secret of a row; `corrupt` when it is not authentic.
  func openSecret(of row: SealedRow) throws(StorageError) -> Secret {
    let associatedData = associatedData(of: .secret, tag: row.tag, sequence: row.sequence)
    guard var bytes = secrets.open(row.secret.span, for: associatedData.span) else {
      throw .unauthenticRow
    }
    try bytes.unpad()
    return Secret(bytes)
  }

  /// The metadata of a row whose secret is authentic too; `corrupt` when either is not.
  func authenticate(_ row: SealedRow) throws(StorageError) -> Metadata {
    let associatedData = associatedData(of: .secret, tag: row.tag, sequence: row.sequence)
    guard secrets.isAuthentic(row.secret.span, for: associatedData.span) else {
      throw .unauthenticRow
    }
    return try openMetadata(row.metadata, at: row.tag, sequence: row.sequence)
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
    bytes += tag.service
    bytes += tag.key
    bytes.append(littleEndian: sequence)
    bytes += metadataTag
    bytes += secretTag
    return RowSum(sum.hash(bytes.span, count: RowSum.size))
  }

  private func associatedData(of part: StoreFormat.Part, tag: RowTag, sequence: UInt64) -> [UInt8] {
    var bytes = StoreFormat.associatedData(of: part, storeID: storeID)
    bytes += tag.service
    bytes += tag.key
    bytes.append(littleEndian: sequence)
    return bytes
  }
}
