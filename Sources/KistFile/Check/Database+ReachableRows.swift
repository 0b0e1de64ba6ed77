internal import KistCore

/// A row as it lies there, whether or not it is right.
struct FoundRow {
  let address: Int64
  /// `nil` where these are no tags.
  let tag: RowTag?
  /// Whether its tags are of the type that a lookup compares with.
  let isPlaced: Bool
  /// Whether it came in the order of the table.
  let isInOrder: Bool
  let sequence: UInt64
  let metadata: [UInt8]
  /// `nil` where a damaged page has it.
  let secret: [UInt8]?
}

extension Database {
  /// Lends every row that can be reached, some of them twice; throws when that was not all.
  ///
  /// The rows are read in the order of the table. Where SQLite finds a page malformed and ends, they
  /// are looked up from both sides of it, and between in ranges that are halved again and again.
  func eachReachableRow(
    _ body: (FoundRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    let damage: StorageError
    do throws(StorageError) { return try eachRowOfTable(body) } catch { damage = error }
    guard damage.code == .corrupt else { throw damage }
    // Without the secrets then, for those whose secret alone lies on a damaged page.
    for content in [Content.all, .name] {
      var ranges = [AddressRange.whole]
      while let range = ranges.popLast() {
        var (low, high) = (range.low, range.high)
        if try eachRow(in: range, .ascending, content, &low, body) { continue }
        _ = try eachRow(in: range, .descending, content, &high, body)
        let hasGained = low != range.low || high != range.high
        ranges +=
          AddressRange(low: low, high: high, barren: hasGained ? 0 : range.barren + 1).halves
      }
    }
    throw damage
  }

  /// Lends the rows as they lie, so that those that are out of order are among them; throws when they
  /// are more than the pages have room for, as they are where a page leads back to one before it.
  private func eachRowOfTable(
    _ body: (FoundRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    // None takes up fewer bytes than 8 with its pointer.
    var room = 0
    try run("PRAGMA page_count") { columns in
      room = Int(columns.integer(0)) * 4096 / 8
      return .enough
    }
    try run("SELECT address, service_tag, key_tag, sequence, metadata, secret FROM credential") {
      columns throws(StorageError) in
      room -= 1
      guard room > 0 else { throw .damagedPages }
      try body(FoundRow(columns, isInOrder: true))
      return .more
    }
  }

  private enum Direction { case ascending, descending }

  private enum Content { case all, name }

  /// Lends the rows of a range, and moves its end to the last of them; `false` when damage ended it.
  private func eachRow(
    in range: AddressRange, _ direction: Direction, _ content: Content, _ end: inout Int64,
    _ body: (FoundRow) throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    var failure: StorageError?
    var isEndless = false
    let start = direction == .ascending ? range.low : range.high
    do throws(StorageError) {
      try run(
        direction == .ascending
          ? """
          SELECT address, service_tag, key_tag, sequence, metadata, iif(?2, secret, NULL) \
          FROM credential WHERE address > ?1 ORDER BY address
          """
          : """
          SELECT address, service_tag, key_tag, sequence, metadata, iif(?2, secret, NULL) \
          FROM credential WHERE address < ?1 ORDER BY address DESC
          """, [.integer(start), .integer(content == .all ? 1 : 0)]
      ) { columns in
        let row = FoundRow(columns, isInOrder: false, hasSecret: content == .all)
        guard range.contains(row.address) else { return .enough }
        // As above: a page that leads back.
        guard direction == .ascending ? row.address > end : row.address < end else {
          isEndless = true
          return .enough
        }
        end = row.address
        guard row.tag != nil else { return .more }
        do throws(StorageError) {
          try body(row)
          return .more
        } catch {
          failure = error
          return .enough
        }
      }
    } catch {
      guard error.code == .corrupt else { throw error }
      return false
    }
    if let failure { throw failure }
    return !isEndless
  }
}

extension FoundRow {
  /// Takes the columns of the table.
  fileprivate init(_ columns: SQLColumns, isInOrder: Bool, hasSecret: Bool = true) {
    address = columns.integer(0)
    tag = columns.rawTag
    isPlaced = (try? columns.tag(1)) != nil && (try? columns.tag(2)) != nil
    self.isInOrder = isInOrder
    sequence = UInt64(bitPattern: columns.integer(3))
    metadata = columns.blob(4)
    secret = hasSecret ? columns.blob(5) : nil
  }
}

extension SQLColumns {
  /// The tags, of whatever type they are.
  fileprivate var rawTag: RowTag? {
    guard let service = Tag(blob(1).span), let key = Tag(blob(2).span) else { return nil }
    return RowTag(service: service, key: key)
  }
}
