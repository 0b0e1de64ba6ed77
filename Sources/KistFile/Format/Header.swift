internal import KistCore
private import KistSodium

/// What is true of the whole store; sealed, and written anew with each change.
struct Header: Equatable, Sendable {
  /// The number of the last change.
  var sequence: UInt64
  /// The number of credentials.
  var count: UInt64
  /// What revisions begin with: random, of this store alone.
  var epoch: UInt64
  /// The sum of all rows' hashes.
  var sum: RowSum
  /// The hash of all key slots.
  var slots: [UInt8]

  /// Bytes of the hash of the slots.
  static let slotsHashSize = 32
}

extension StoreKeys {
  func seal(_ header: Header, nonce: [UInt8]) -> [UInt8] {
    var bytes = WipedBytes(capacity: 88)
    bytes.append(littleEndian: header.sequence)
    bytes.append(littleEndian: header.count)
    bytes.append(littleEndian: header.epoch)
    bytes.append(header.sum)
    bytes.append(header.slots.span)
    let associatedData = StoreFormat.associatedData(of: .header, storeID: storeID)
    return bytes.withBytes { self.header.seal($0, for: associatedData.span, nonce: nonce) }
  }

  func openHeader(_ sealed: [UInt8]) throws(StorageError) -> Header {
    let associatedData = StoreFormat.associatedData(of: .header, storeID: storeID)
    guard let bytes = header.open(sealed.span, for: associatedData.span) else {
      throw .corrupt("the store's header fails authentication")
    }
    return try bytes.withBytes { bytes throws(StorageError) in
      var reader = ByteReader()
      let header = Header(
        sequence: try reader.integer(from: bytes), count: try reader.integer(from: bytes),
        epoch: try reader.integer(from: bytes),
        sum: try RowSum(&reader, from: bytes),
        slots: try reader.bytes(Header.slotsHashSize, from: bytes))
      try reader.finish(bytes)
      return header
    }
  }
}
