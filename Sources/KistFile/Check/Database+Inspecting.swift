private import CSQLite
internal import KistCore
internal import KistVault

/// The pages of one terabyte, at 4 KiB each.
private let mostPages: Int64 = 1 << 28

extension Database {
  /// Returns at most a dozen faults that SQLite finds in pages, trees and the free list.
  ///
  /// Throws `unavailable` where SQLite cannot read the pages.
  func pageFaults() throws(StorageError) -> [String] {
    // SQLite allocates memory for each page that the file claims to have, and the log can claim any
    // number.
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
  func pageCount() throws(StorageError) -> Int64 {
    try number("PRAGMA page_count") ?? 0
  }

  /// Returns the undamaged key slots.
  func wholeSlots(storeID: [UInt8]) throws(StorageError) -> [KeySlot] {
    var slots: [KeySlot] = []
    try run("SELECT number, body FROM slot ORDER BY number LIMIT 64") { columns in
      if let number = UInt32(exactly: columns.integer(0)),
        let slot = try? KeySlot(decoding: columns.blob(1), number: number, storeID: storeID)
      {
        slots.append(slot)
      }
      return .more
    }
    try KeySlot.checkTotalCost(of: slots)
    return slots
  }
}
