internal import KistCore
internal import KistVault

/// The queries of the store.
extension Database {
  /// Returns the sealed header and the store's id.
  func storeRow() throws(StorageError) -> (id: [UInt8], header: [UInt8]) {
    let rows = try rows("SELECT id, header FROM store LIMIT 2") {
      (id: $0.blob(0), header: $0.blob(1))
    }
    guard rows.count == 1, rows[0].id.count == StoreFormat.storeIDSize else {
      throw .corrupt("the store's header is damaged")
    }
    return rows[0]
  }

  func header(_ keys: StoreKeys) throws(StorageError) -> Header {
    try keys.openHeader(sealedHeader(of: keys.storeID))
  }

  /// Returns the sealed header of the store with this id.
  func sealedHeader(of storeID: [UInt8]) throws(StorageError) -> [UInt8] {
    let row = try storeRow()
    guard row.id == storeID else { throw .corrupt("the id of the store was changed") }
    return row.header
  }

  func replaceHeader(_ sealed: [UInt8]) throws(StorageError) {
    try run("UPDATE store SET header = ?", .blob(sealed))
  }

  /// Returns all key slots, ordered by number.
  func slots(storeID: [UInt8]) throws(StorageError) -> [KeySlot] {
    let rows = try slotRows()
    var slots: [KeySlot] = []
    for (number, body) in rows {
      guard let number = UInt32(exactly: number), rows.count <= KeySlot.most else {
        throw .damagedSlot
      }
      slots.append(try KeySlot(decoding: body, number: number, storeID: storeID))
    }
    if slots.isEmpty { throw .corrupt("the store has no key slot") }
    try KeySlot.checkTotalCost(of: slots)
    return slots
  }

  func wholeSlots(storeID: [UInt8]) throws(StorageError) -> [KeySlot] {
    let slots = try slotRows().prefix(KeySlot.most).compactMap { number, body in
      UInt32(exactly: number).flatMap { try? KeySlot(decoding: body, number: $0, storeID: storeID) }
    }
    try KeySlot.checkTotalCost(of: slots)
    return slots
  }

  /// Returns the numbers and bodies of the key slots, up to one more than a store may have.
  private func slotRows() throws(StorageError) -> [(Int64, [UInt8])] {
    try rows("SELECT number, body FROM slot ORDER BY number LIMIT 65") {
      ($0.integer(0), $0.blob(1))
    }
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
    let found = try lookUp(tag, amongOthers: true) { identity, metadata, secret in
      SealedRow(
        identity: identity, metadata: Array(copying: metadata), secret: Array(copying: secret))
    }
    guard let (row, address) = found, RowAddresses.of(tag).contains(address) else {
      throw .internal("every address for this name is taken")
    }
    return FoundRow(tag: tag, address: address, row: row)
  }

  /// Looks up a credential and calls the body with its identity, sealed metadata and sealed secret.
  ///
  /// Returns the body's result and the credential's address. For a missing row, it returns the first
  /// free address, which is above the credential's addresses if all are taken.
  ///
  /// A load does not wait for the integrity check, and SQLite follows forged pages without end. So
  /// this checks the address of each row. It selects `service_tag` so that SQLite checks its
  /// length; a forged length would lead SQLite through overflow pages to the columns after it.
  ///
  /// - Parameter amongOthers: whether to read all rows at the credential's addresses. Otherwise, it
  ///   returns `nil` if the first row is of another credential.
  @inline(__always)
  func lookUp<Result>(
    _ tag: RowTag, amongOthers: Bool,
    _ body: (RowIdentity, Span<UInt8>, Span<UInt8>) throws(StorageError) -> Result
  ) throws(StorageError) -> (found: Result?, address: Int64)? {
    let addresses = RowAddresses.of(tag)
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
      guard address > last else { throw .wrongAddress }
      last = address
      if try columns.tag(2) == tag.key {
        let identity = RowIdentity(tag: tag, sequence: try columns.sequence)
        let found = try columns.withBlob(4) { metadata throws(StorageError) in
          try columns.withBlob(5) { secret throws(StorageError) in
            try body(identity, metadata, secret)
          }
        }
        return (found, address)
      }
      guard amongOthers else { return nil }
      if address == free { free += 1 }
    }
    return (nil, free)
  }

  func hasRows() throws(StorageError) -> Bool {
    try number("SELECT 1 FROM credential LIMIT 1") != nil
  }

  /// Calls the body with address, identity and sealed metadata of the rows after a cursor, in order.
  func eachMetadata(
    after start: Cursor,
    _ body: (Int64, RowIdentity, Span<UInt8>) throws(StorageError) -> Next
  ) throws(StorageError) {
    try run(
      """
      SELECT address, service_tag, key_tag, sequence, metadata FROM credential \
      WHERE address > ? AND address <= ? ORDER BY address
      """, [.integer(start.address), .integer(start.end)]
    ) { columns throws(StorageError) in
      let identity = try columns.identity
      guard start.isFollowed(by: identity.tag) else { return .more }
      return try columns.withBlob(4) { metadata throws(StorageError) in
        try body(columns.integer(0), identity, metadata)
      }
    }
  }

  /// Calls the body with each row until the body returns `enough`; returns `true` if it never did.
  ///
  /// Throws `corrupt` unless the rows are exactly those that the header counts, each is where a
  /// lookup finds it, and no two have the same tags or sequence. The query does not sort the rows, because that would hide a row at a wrong
  /// place. Call it in a transaction, so that the header and the rows are of the same moment.
  ///
  /// - Parameter onlyEnds: whether to read only the last 16 bytes of the sealed parts.
  func verifyRows(
    _ keys: StoreKeys, onlyEnds: Bool = false,
    _ body: (RowIdentity, Span<UInt8>, Span<UInt8>) throws(StorageError) -> Next
  ) throws(StorageError) -> Bool {
    let header = try header(keys)
    var rows = RowTally(keys)
    var isComplete = true
    try run(
      onlyEnds
        ? """
        SELECT address, service_tag, key_tag, sequence, substr(metadata, -16), substr(secret, -16)
        FROM credential
        """ : "SELECT address, service_tag, key_tag, sequence, metadata, secret FROM credential"
    ) { columns throws(StorageError) in
      let identity = try columns.identity
      return try columns.withBlob(4) { metadata throws(StorageError) in
        try columns.withBlob(5) { secret throws(StorageError) in
          try rows.verify(metadata, secret, as: identity, address: columns.integer(0), in: header)
          let next = try body(identity, metadata, secret)
          isComplete = next == .more
          return next
        }
      }
    }
    if isComplete { try rows.conclude(header) }
    return isComplete
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

  /// Writes a row at its address, replacing a row that is there.
  func put(_ row: SealedRow, at address: Int64) throws(StorageError) {
    let statement = try statement("INSERT OR REPLACE INTO credential VALUES (?, ?, ?, ?, ?, ?)")
    let (service, key) = (row.identity.tag.service.bytes, row.identity.tag.key.bytes)
    try statement.withBound(service.span, key.span, at: 2, 3) { () throws(StorageError) in
      try statement.withBound(row.metadata.span, row.secret.span, at: 5, 6) {
        () throws(StorageError) in
        statement.bind(.integer(address), at: 1)
        statement.bind(.integer(Int64(bitPattern: row.identity.sequence)), at: 4)
        _ = try statement.next()
      }
    }
  }

  func delete(at address: Int64) throws(StorageError) {
    try run("DELETE FROM credential WHERE address = ?", .integer(address))
  }

  /// Reads from the snapshot with this number, or from a new one, and keeps it until a read fails.
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
  func transaction(
    _ begin: StaticString, _ body: () throws(StorageError) -> Bool
  ) throws(StorageError) {
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
