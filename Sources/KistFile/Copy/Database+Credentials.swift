internal import KistCore

extension Database {
  /// Copies a credential into a store that is being made, under its own keys.
  ///
  /// The copy replaces one with the same key, and is counted in the header.
  func copy(
    _ row: OpenedRow, under keys: StoreKeys, _ header: inout Header, nonces: (Int) -> [UInt8]
  ) throws(StorageError) {
    header.sequence += 1
    var nonces = Nonces(nonces(2))
    let found = try find(keys.tag(of: row.metadata.key))
    let copy = keys.seal(
      row.metadata, row.secret, row.secretFields, at: found.tag, sequence: header.sequence,
      &nonces)
    header.replaceRow(found.row.map(keys.hash(of:)), with: keys.hash(of: copy))
    try put(copy, at: found.address)
  }

  /// Calls the body with every credential, decrypted.
  ///
  /// Throws `corrupt` unless they match the header exactly and each is where a lookup finds it.
  ///
  /// Call it in a transaction, so that the header and the rows are of the same moment.
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
      let sequence = try columns.sequence(3)
      guard sequence <= header.sequence else { throw .wrongRows }
      let row = try columns.withBlob(4) { metadata throws(StorageError) in
        try columns.withBlob(5) { secret throws(StorageError) in
          sum += keys.hash(tag: tag, sequence: sequence, metadata: metadata, secret: secret)
          let metadata = try keys.openMetadata(metadata, at: tag, sequence: sequence)
          let (secret, fields) = try keys.openSecret(
            secret, hasFields: metadata.secretHasFields, at: tag, sequence: sequence)
          return OpenedRow(
            metadata: metadata, secret: secret, secretFields: fields, sequence: sequence)
        }
      }
      try body(row)
      return .more
    }
    guard sum == header.sum, count == header.count else { throw .wrongRows }
  }
}
