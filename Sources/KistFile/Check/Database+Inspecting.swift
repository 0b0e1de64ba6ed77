private import CSQLite
internal import KistCore
internal import KistVault

/// The pages of one terabyte, at 4 KiB each.
private let mostPages: Int64 = 1 << 28

extension Database {
  /// Returns at most a dozen faults of pages and trees; throws where SQLite cannot read the pages.
  func pageFaults() throws(StorageError) -> [String] {
    // SQLite allocates memory for each page that the file, or its log, claims to have.
    guard try pageCount() <= mostPages else { return ["it has more pages than any store"] }
    var faults: [String] = []
    try run("PRAGMA quick_check(12)") { columns throws(StorageError) in
      let fault = columns.text(0)
      // SQLite reports a failed read as a fault and continues.
      if fault.contains("failed to get page") || fault.contains("unable to get the page") {
        throw StorageError(database: SQLITE_IOERR)
      }
      // A line with the name of the database precedes the faults of pages.
      faults += fault.split(separator: "\n").filter { !$0.hasPrefix("***") }.map(String.init)
      return .more
    }
    return faults == ["ok"] ? [] : faults
  }

  /// Returns the number of pages according to the file or its log.
  func pageCount() throws(StorageError) -> Int64 { try number("PRAGMA page_count") ?? 0 }
}

/// A row as found in the file, valid or not.
struct ReachedRow {
  let address: Int64
  /// `nil` where the columns do not contain tags.
  let identity: RowIdentity?
  /// Whether both tags are blobs of the right size; a lookup finds no others.
  let isPlaced: Bool
  /// Whether the row was read in the order of the table.
  let isInOrder: Bool
  let metadata: [UInt8]
  /// `nil` where the secret is on a damaged page.
  let secret: [UInt8]?
}

extension Database {
  /// Calls the body with every reachable row, some twice; throws when some were not reachable.
  ///
  /// Reads the rows in the order of the table. If SQLite stops at a malformed page, reads rows by
  /// address from both sides of it, and halves the range in between repeatedly.
  func eachReachableRow(
    _ body: (ReachedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    let damage: StorageError
    do throws(StorageError) { return try eachRowOfTable(body) } catch { damage = error }
    guard damage.code == .corrupt else { throw damage }
    // The second pass omits the secrets, for rows where only the secret is on a damaged page.
    for hasSecret in [true, false] {
      var ranges = [AddressRange.whole]
      while let range = ranges.popLast() {
        var (low, high) = (range.low, range.high)
        if try eachRow(in: range, isAscending: true, hasSecret, &low, body) { continue }
        _ = try eachRow(in: range, isAscending: false, hasSecret, &high, body)
        let hasGained = low != range.low || high != range.high
        let emptySplits = hasGained ? 0 : range.emptySplits + 1
        ranges += AddressRange(low: low, high: high, emptySplits: emptySplits).halves
      }
    }
    throw damage
  }

  /// Calls the body with the rows in the order of the table, including rows that are out of order.
  ///
  /// Throws at more rows than the pages can contain, as when a page leads back to an earlier one.
  private func eachRowOfTable(
    _ body: (ReachedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    // A row with its pointer takes at least 8 bytes.
    var remaining = try pageCount() * 4096 / 8
    try run("SELECT address, service_tag, key_tag, sequence, metadata, secret FROM credential") {
      columns throws(StorageError) in
      remaining -= 1
      guard remaining > 0 else { throw .damagedPages }
      try body(ReachedRow(columns, isInOrder: true))
      return .more
    }
  }

  /// Reads the rows of a range; sets `end` to the last address; `false` if damage stopped it.
  private func eachRow(
    in range: AddressRange, isAscending: Bool, _ hasSecret: Bool, _ end: inout Int64,
    _ body: (ReachedRow) throws(StorageError) -> Void
  ) throws(StorageError) -> Bool {
    var failure: StorageError?
    var isEndless = false
    do throws(StorageError) {
      try run(
        isAscending
          ? """
          SELECT address, service_tag, key_tag, sequence, metadata, iif(?2, secret, NULL) \
          FROM credential WHERE address > ?1 ORDER BY address
          """
          : """
          SELECT address, service_tag, key_tag, sequence, metadata, iif(?2, secret, NULL) \
          FROM credential WHERE address < ?1 ORDER BY address DESC
          """, [.integer(isAscending ? range.low : range.high), .integer(hasSecret ? 1 : 0)]
      ) { columns in
        let row = ReachedRow(columns, isInOrder: false, hasSecret: hasSecret)
        guard range.contains(row.address) else { return .enough }
        // Otherwise a page that leads back to an earlier one would repeat rows endlessly.
        guard isAscending ? row.address > end : row.address < end else {
          isEndless = true
          return .enough
        }
        end = row.address
        guard row.identity != nil else { return .more }
        do throws(StorageError) { try body(row) } catch { failure = error }
        return failure == nil ? .more : .enough
      }
    } catch  where error.code == .corrupt { return false }
    if let failure { throw failure }
    return !isEndless
  }
}

extension ReachedRow {
  /// Reads the columns of the table.
  fileprivate init(_ columns: SQLColumns, isInOrder: Bool, hasSecret: Bool = true) {
    address = columns.integer(0)
    if let service = Tag(columns.blob(1).span), let key = Tag(columns.blob(2).span) {
      let sequence = UInt64(bitPattern: columns.integer(3))
      identity = RowIdentity(tag: RowTag(service: service, key: key), sequence: sequence)
    } else {
      identity = nil
    }
    isPlaced = (try? columns.tag(1)) != nil && (try? columns.tag(2)) != nil
    self.isInOrder = isInOrder
    metadata = columns.blob(4)
    secret = hasSecret ? columns.blob(5) : nil
  }
}

/// A range of addresses to search for rows, with both ends excluded.
struct AddressRange {
  /// The range of all possible addresses.
  static let whole = AddressRange(
    low: RowAddresses.all.lowerBound - 1, high: RowAddresses.all.upperBound + 1, emptySplits: 0)

  let low: Int64
  let high: Int64
  /// How often the range was halved since a row was last found.
  let emptySplits: Int

  /// After this many halvings without a row, the whole range counts as damaged.
  private static let mostEmptySplits = 8

  func contains(_ address: Int64) -> Bool { low < address && address < high }

  /// Both halves, the second with the middle; empty where the search should stop.
  ///
  /// The rows of a service have adjacent addresses, so a range is first split where a service ends.
  var halves: [AddressRange] {
    guard emptySplits < Self.mostEmptySplits, contains(middle) else { return [] }
    return [
      AddressRange(low: low, high: middle, emptySplits: emptySplits),
      AddressRange(low: middle - 1, high: high, emptySplits: emptySplits),
    ]
  }

  private var middle: Int64 {
    // After an empty split, the ends are not addresses of rows, so no service is known there.
    let ends =
      emptySplits > 0
      ? []
      : [
        RowAddresses.ofService(at: low).upperBound, RowAddresses.ofService(at: high).lowerBound,
      ]
    return ends.first(where: contains) ?? low + (high - low) / 2
  }
}
