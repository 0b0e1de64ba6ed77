internal import KistCore

extension Database {
  /// Lends every credential, opened; throws `corrupt` unless they are exactly those that the header
  /// vouches for, each where a lookup finds it.
  ///
  /// Header and rows are read as they are at one moment only in a transaction.
  func eachCredential(
    _ keys: StoreKeys, _ body: (OpenedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    let header = try header(keys)
    var sum = RowSum.zero
    var count: UInt64 = 0
    var last = Int64.min
    try run("SELECT address, service_tag, key_tag, sequence, metadata, secret FROM credential") {
      columns throws(StorageError) in
      let address = columns.integer(0)
      let tag = RowTag(service: try columns.tag(1), key: try columns.tag(2))
      guard address > last, RowAddresses(of: tag).range.contains(address) else {
        throw .damagedRows("credentials in the store are where no lookup finds them")
      }
      last = address
      count += 1
      let sequence = UInt64(bitPattern: columns.integer(3))
      let row = try columns.withBlob(4) { metadata throws(StorageError) in
        try columns.withBlob(5) { secret throws(StorageError) in
          sum += keys.hash(tag: tag, sequence: sequence, metadata: metadata, secret: secret)
          return OpenedRow(
            metadata: try keys.openMetadata(metadata, at: tag, sequence: sequence),
            secret: try keys.openSecret(secret, at: tag, sequence: sequence), sequence: sequence)
        }
      }
      try body(row)
      return .more
    }
    guard sum == header.sum, count == header.count else { throw .wrongRows }
  }
}
