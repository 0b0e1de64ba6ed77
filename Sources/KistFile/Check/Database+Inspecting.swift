private import CSQLite
internal import KistCore

extension Database {
  /// What SQLite finds wrong with pages, trees and the list of free pages, a dozen things at most;
  /// `unavailable` where it could not read them.
  func pageFaults() throws(StorageError) -> [String] {
    var faults: [String] = []
    try run("PRAGMA quick_check(12)") { columns throws(StorageError) in
      let fault = columns.text(0)
      // It tells of a read that failed as of a fault, and goes on.
      if fault.contains("failed to get page") || fault.contains("unable to get the page") {
        throw StorageError(database: SQLITE_IOERR)
      }
      // Above those of pages stands the name of the database.
      faults += fault.split(separator: "\n").filter { !$0.hasPrefix("***") }.map(String.init)
      return .more
    }
    return faults == ["ok"] ? [] : faults
  }

  /// Those key slots that are whole.
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
