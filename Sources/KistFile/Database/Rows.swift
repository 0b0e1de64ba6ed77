internal import KistCore

/// The queries of the store.
extension Database {
  /// Returns the sealed header and the store's id.
  func storeRow() throws(StorageError) -> (id: [UInt8], header: [UInt8]) {
    var rows: [(id: [UInt8], header: [UInt8])] = []
    try run("SELECT id, header FROM store") { columns in
      rows.append((columns.blob(0), columns.blob(1)))
      return rows.count > 1 ? .enough : .more
    }
    guard rows.count == 1, let row = rows.first, row.id.count == StoreFormat.storeIDSize else {
      throw .corrupt("the store's header is damaged")
    }
    return row
  }

  func header(_ keys: StoreKeys) throws(StorageError) -> Header {
    try keys.openHeader(sealedHeader(of: keys.storeID))
  }

  /// Returns the sealed header of the store with this id.
  func sealedHeader(of storeID: [UInt8]) throws(StorageError) -> [UInt8] {
    let row = try storeRow()
    guard row.id == storeID else { throw .corrupt("the store's id was changed") }
    return row.header
  }

  func replaceHeader(_ sealed: [UInt8]) throws(StorageError) {
    try run("UPDATE store SET header = ?", .blob(sealed))
  }

  /// Returns all key slots, ordered by number.
  func slots(storeID: [UInt8]) throws(StorageError) -> [KeySlot] {
    var rows: [(number: Int64, body: [UInt8])] = []
    try run("SELECT number, body FROM slot ORDER BY number LIMIT 65") { columns in
      rows.append((columns.integer(0), columns.blob(1)))
      return .more
    }
    var slots: [KeySlot] = []
    for row in rows {
      guard let number = UInt32(exactly: row.number), rows.count <= KeySlot.most else {
        throw .corrupt("a key slot is damaged")
      }
      slots.append(try KeySlot(decoding: row.body, number: number, storeID: storeID))
    }
    if slots.isEmpty { throw .corrupt("the store has no key slot") }
    try KeySlot.checkTotalCost(of: slots)
    return slots
  }

  /// Returns all key slots; throws `corrupt` unless they are those of the header.
  func slots(of header: Header, storeID: [UInt8]) throws(StorageError) -> [KeySlot] {
    let slots = try slots(storeID: storeID)
    guard header.slots == KeySlot.hash(of: slots, storeID: storeID) else {
      throw .corrupt("the store's key slots were changed")
    }
    return slots
  }

  /// Returns the row of a credential, or a free address for it.
  func find(_ tag: RowTag) throws(StorageError) -> FoundRow {
    let (row, address) = try lookUp(tag) { sequence, metadata, secret in
      SealedRow(
        tag: tag, sequence: sequence, metadata: Array(copying: metadata),
        secret: Array(copying: secret))
    }
    return FoundRow(tag: tag, address: address, row: row)
  }

  /// Looks up a credential and calls the body with its sequence, sealed metadata and sealed secret.
  ///
  /// Returns the body's result and the credential's address, or a free address for it.
  ///
  /// This function checks each row, instead of SQLite. In forged pages SQLite would continue for as
  /// long as they link, and a load does not wait until the pages are known to be sound.
  ///
  /// The query selects `service_tag` only so that SQLite checks its length first. Otherwise SQLite
  /// would follow overflow pages to the columns after it.
  @inline(__always)
  func lookUp<Result>(
    _ tag: RowTag, _ body: (UInt64, Span<UInt8>, Span<UInt8>) throws(StorageError) -> Result
  ) throws(StorageError) -> (found: Result?, address: Int64) {
    let addresses = RowAddresses(of: tag).range
    var (last, free) = (addresses.lowerBound - 1, addresses.lowerBound)
    let statement = try statement(
      """
      SELECT address, service_tag, key_tag, sequence, metadata, secret FROM credential \
      WHERE address BETWEEN ? AND ? ORDER BY address
      """)
    defer { statement.reset() }
    statement.bind(.integer(addresses.lowerBound), at: 1)
    statement.bind(.integer(addresses.upperBound), at: 2)
    while let columns = try statement.next() {
      let address = columns.integer(0)
      guard address > last else {
        throw .damagedRows("credentials in the store are where no lookup finds them")
      }
      last = address
      if try columns.tag(2) == tag.key {
        let sequence = try columns.sequence(3)
        let found = try columns.withBlob(4) { metadata throws(StorageError) in
          try columns.withBlob(5) { secret throws(StorageError) in
            try body(sequence, metadata, secret)
          }
        }
        return (found, address)
      }
      if address == free { free += 1 }
    }
    guard addresses.contains(free) else {
      throw .internal("there is no address left for this name")
    }
    return (nil, free)
  }

  /// Returns whether there is any credential.
  func hasRows() throws(StorageError) -> Bool {
    var hasRows = false
    try run("SELECT 1 FROM credential LIMIT 1") { _ in
      hasRows = true
      return .enough
    }
    return hasRows
  }

  /// Calls the body with address, tag, sequence and sealed metadata of the rows after a cursor.
  ///
  /// The rows come in the order of their addresses.
  func eachMetadata(
    after start: Cursor,
    _ body: (Int64, RowTag, UInt64, Span<UInt8>) throws(StorageError) -> Next
  ) throws(StorageError) {
    try run(
      """
      SELECT address, service_tag, key_tag, sequence, metadata FROM credential \
      WHERE address > ? AND address <= ? ORDER BY address
      """, [.integer(start.address), .integer(start.end)]
    ) { columns throws(StorageError) in
      let tag = RowTag(service: try columns.tag(1), key: try columns.tag(2))
      guard start.isFollowed(by: tag) else { return .more }
      return try columns.withBlob(4) { metadata throws(StorageError) in
        try body(columns.integer(0), tag, columns.sequence(3), metadata)
      }
    }
  }

  /// Calls the body with each row's address and the inputs of its hash, in the order of the table.
  ///
  /// Sorting would hide whether a lookup finds the rows.
  func eachRowMark(
    _ body: (Int64, RowTag, UInt64, [UInt8], [UInt8]) throws(StorageError) -> Next
  ) throws(StorageError) {
    try run(
      """
      SELECT address, service_tag, key_tag, sequence, substr(metadata, -16), substr(secret, -16)
      FROM credential
      """
    ) { columns throws(StorageError) in
      try body(
        columns.integer(0), RowTag(service: try columns.tag(1), key: try columns.tag(2)),
        columns.sequence(3), columns.blob(4), columns.blob(5))
    }
  }

  func insertStore(id: [UInt8], header: [UInt8]) throws(StorageError) {
    try run("INSERT INTO store VALUES (?, ?)", .blob(id), .blob(header))
  }

  func insertSlot(_ number: UInt32, _ body: [UInt8]) throws(StorageError) {
    try run("INSERT INTO slot VALUES (?, ?)", .integer(Int64(number)), .blob(body))
  }

  func deleteSlot(_ number: UInt32) throws(StorageError) {
    try run("DELETE FROM slot WHERE number = ?", .integer(Int64(number)))
  }

  /// Merges the log into the database and waits until it is on disk; `false` when it could not.
  func checkpoint() throws(StorageError) -> Bool {
    var isComplete = false
    try run("PRAGMA wal_checkpoint(FULL)") { columns in
      isComplete = columns.integer(0) == 0
      return .enough
    }
    return isComplete
  }

  /// Merges the log into the database and empties it, so that neither contains removed data.
  ///
  /// Returns `false` when a reader uses the log for too long.
  func emptyLog() throws(StorageError) -> Bool {
    var isComplete = false
    try run("PRAGMA wal_checkpoint(TRUNCATE)") { columns in
      isComplete = columns.integer(0) == 0
      return .enough
    }
    return isComplete
  }

  /// Writes a row at its address, replacing a row that is there.
  func put(_ row: SealedRow, at address: Int64) throws(StorageError) {
    let statement = try statement("INSERT OR REPLACE INTO credential VALUES (?, ?, ?, ?, ?, ?)")
    let (service, key) = (row.tag.service.bytes, row.tag.key.bytes)
    try statement.withBound(service.span, key.span, at: 2, 3) { () throws(StorageError) in
      try statement.withBound(row.metadata.span, row.secret.span, at: 5, 6) {
        () throws(StorageError) in
        statement.bind(.integer(address), at: 1)
        statement.bind(.integer(Int64(bitPattern: row.sequence)), at: 4)
        _ = try statement.next()
      }
    }
  }

  func delete(at address: Int64) throws(StorageError) {
    try run("DELETE FROM credential WHERE address = ?", .integer(address))
  }

  /// Reads from the snapshot with this number, and takes a new one where another or none is kept.
  ///
  /// The snapshot is kept until it is ended or a read fails.
  func withSnapshot<Result>(
    _ number: Int, _ body: () throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    do {
      if snapshot != number {
        endSnapshot()
        try run("BEGIN")
        snapshot = number
      }
      return try body()
    } catch {
      endSnapshot()
      throw error
    }
  }

  func endSnapshot() {
    guard snapshot != nil else { return }
    snapshot = nil
    try? run("COMMIT")
  }

  /// Runs the body in a transaction, and commits if the body returns `true`.
  func transaction(_ begin: StaticString, _ body: () throws(StorageError) -> Bool)
    throws(StorageError)
  {
    try run(begin)
    var isKept = false
    // SQLite often ends a failed transaction by itself.
    defer { if !isKept, isInsideTransaction { try? run("ROLLBACK") } }
    if try body() {
      try run("COMMIT")
      isKept = true
    }
  }
}
