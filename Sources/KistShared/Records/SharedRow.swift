package import KistCluster
package import KistCore
internal import KistSodium
package import KistVault

/// The layout of a row: version, sequence, sealed service tag, metadata with its size, secret.
private enum RowLayout {
  static let place = 12
  static let placeSize = 16 + SharedFormat.overhead
  static let start = place + placeSize + 4
  /// The smallest sealed part: 64 padded bytes.
  static let leastPart = 64 + SharedFormat.overhead
}

extension GenerationKeys {
  /// Encodes a row as a record of the vault.
  ///
  /// The metadata and the secret are stored as in an encrypted file. The service tag is sealed, so
  /// that the cluster does not see which credentials have the same service.
  package func encode(_ row: SealedRow, nonce: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: SharedFormat.version)
    bytes.append(littleEndian: row.identity.sequence)
    let associatedData = placeData(row.identity.tag.key, row.identity.sequence)
    bytes += placeKey.seal(
      row.identity.tag.service.bytes.span, for: associatedData.span, nonce: nonce)
    bytes.append(littleEndian: UInt32(row.metadata.count))
    return bytes + row.metadata + row.secret
  }

  /// Decodes the row with a key tag.
  ///
  /// Throws `corrupt` if it is not a row of this generation with this key tag. The metadata and the
  /// secret are not opened.
  package func openRow(_ bytes: [UInt8], key: RecordID) throws(StorageError) -> SealedRow {
    try decoding("row of a credential") { () throws(StorageError) in
      let span = bytes.span
      var reader = ByteReader()
      try reader.version(of: "row of a credential", from: span)
      let sequence = try reader.integer(UInt64.self, from: span)
      let place = try reader.bytes(RowLayout.placeSize, from: span)
      let size = Int(try reader.integer(UInt32.self, from: span))
      let secret = bytes.count - reader.offset - size
      guard bytes.count <= StoreFormat.longestRow, size >= RowLayout.leastPart,
        secret >= RowLayout.leastPart, (1...Header.maximumSequence).contains(sequence)
      else { throw .untrusted("the row of a credential does not follow the format") }
      // An id has as many bytes as a tag.
      let keyTag = Tag(key.bytes.span)!
      let associatedData = placeData(keyTag, sequence)
      let service = placeKey.open(place.span, for: associatedData.span)?.withBytes { Tag($0) }
      guard let service = service ?? nil else {
        throw .untrusted("the row of a credential fails authentication")
      }
      return SealedRow(
        identity: RowIdentity(tag: RowTag(service: service, key: keyTag), sequence: sequence),
        metadata: try reader.bytes(size, from: span), secret: try reader.bytes(secret, from: span))
    }
  }

  /// Seals a row of the generation before again, with the same sequence; also returns its metadata.
  ///
  /// Every machine gets the same bytes. So it can make its copy of this generation from the one before.
  package func reseal(
    _ row: SealedRow, of old: GenerationKeys
  ) throws(StorageError) -> (row: SealedRow, metadata: Metadata) {
    let metadata = try old.store.openMetadata(row.metadata.span, as: row.identity)
    let opened = try old.store.openRow(row.secret.span, of: metadata, as: row.identity)
    var nonces = nonces(for: row)
    let identity = RowIdentity(
      tag: store.tag(of: opened.metadata.key), sequence: row.identity.sequence)
    let sealed = store.seal(
      opened.metadata, opened.secret, opened.secretFields, as: identity, &nonces)
    return (sealed, opened.metadata)
  }

  private func placeData(_ key: Tag, _ sequence: UInt64) -> [UInt8] {
    var bytes = associatedData(of: .sharedPlace)
    bytes.append(key.bytes.span)
    bytes.append(littleEndian: sequence)
    return bytes
  }
}

extension RecordID {
  /// Makes the id of a row from its key tag.
  package init(_ tag: Tag) {
    // A tag has as many bytes as an id.
    self = RecordID([UInt8](copying: tag.bytes.span))!
  }
}
