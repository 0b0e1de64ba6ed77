internal import KistCore

/// A row as it lies there, whether or not it is right.
struct FoundRow {
  /// Where it stands; `nil` where that is no place.
  let tag: RowTag?
  /// Whether its place is of the type that a lookup compares with.
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
      var ranges = [TagRange(low: .zero, high: .greatest, barren: 0)]
      while let range = ranges.popLast() {
        var (low, high) = (range.low, range.high)
        if try eachRow(in: range, .ascending, content, &low, body) { continue }
        _ = try eachRow(in: range, .descending, content, &high, body)
        let hasGained = low != range.low || high != range.high
        ranges += TagRange(low: low, high: high, barren: hasGained ? 0 : range.barren + 1).halves
      }
    }
    throw damage
  }

  /// Lends the rows as they lie, so that those that are out of order are among them.
  private func eachRowOfTable(
    _ body: (FoundRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    try run("SELECT service_tag, key_tag, sequence, metadata, secret FROM credential") {
      columns throws(StorageError) in
      try body(
        FoundRow(
          tag: columns.rawTag,
          isPlaced: (try? columns.tag(0)) != nil && (try? columns.tag(1)) != nil,
          isInOrder: true, sequence: UInt64(bitPattern: columns.integer(2)),
          metadata: columns.blob(3), secret: columns.blob(4)))
      return .more
    }
  }

  private enum Direction { case ascending, descending }

  private enum Content { case all, name }

  /// Lends the rows of a range, and moves its end to the last of them; `false` when damage ended it.
  private func eachRow(
    in range: TagRange, _ direction: Direction, _ content: Content, _ end: inout RowTag,
    _ body: (FoundRow) throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    var failure: StorageError?
    let start = direction == .ascending ? range.low : range.high
    do throws(StorageError) {
      try run(
        direction == .ascending
          ? """
          SELECT service_tag, key_tag, sequence, metadata, iif(?3, secret, NULL) FROM credential \
          WHERE (service_tag, key_tag) > (?1, ?2) ORDER BY service_tag, key_tag
          """
          : """
          SELECT service_tag, key_tag, sequence, metadata, iif(?3, secret, NULL) FROM credential \
          WHERE (service_tag, key_tag) < (?1, ?2) ORDER BY service_tag DESC, key_tag DESC
          """, [.tag(start.service), .tag(start.key), .integer(content == .all ? 1 : 0)]
      ) { columns in
        guard let tag = columns.rawTag else { return .more }
        guard range.contains(tag) else { return .enough }
        end = tag
        do throws(StorageError) {
          try body(
            FoundRow(
              tag: tag, isPlaced: true, isInOrder: false,
              sequence: UInt64(bitPattern: columns.integer(2)), metadata: columns.blob(3),
              secret: content == .all ? columns.blob(4) : nil))
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
    return true
  }
}

extension SQLColumns {
  /// The first two columns as a place, of whatever type they are.
  fileprivate var rawTag: RowTag? {
    guard let service = Tag(blob(0).span), let key = Tag(blob(1).span) else { return nil }
    return RowTag(service: service, key: key)
  }
}
