internal import KistCore
private import Synchronization

/// One connection to the database, which one thread uses at a time and which can be closed and
/// opened again.
final class Connection: Sendable {
  private let database = Mutex<Database?>(nil)
  private let path: String
  private let readonly: Bool
  private let cacheKibibytes: Int
  private let keepsLog: Bool

  /// Describes a connection that reads, or also writes, and keeps so many KiB of pages; and the log,
  /// too, if it is to stay as it is until something else is said at the end.
  init(path: String, readonly: Bool, cacheKibibytes: Int, keepsLog: Bool = false) {
    self.path = path
    self.readonly = readonly
    self.cacheKibibytes = cacheKibibytes
    self.keepsLog = keepsLog
  }

  /// Opens the connection, if it is not open.
  func open() throws(StorageError) {
    try database.withLock { database throws(StorageError) in
      if database == nil {
        database = try Database(
          path: path, readonly: readonly, cacheKibibytes: cacheKibibytes, keepsLog: keepsLog)
      }
    }
  }

  /// Closes the connection once its user is done with it.
  ///
  /// - Parameter mergingLog: whether the log may be brought into the database.
  func close(mergingLog: Bool = true) {
    database.withLock { database in
      if mergingLog { database?.keepLog(false) }
      database = nil
    }
  }

  /// Gives back the memory of the pages that are kept, unless somebody uses them.
  func releaseMemory() { database.withLockIfAvailable { $0?.releaseMemory() } }

  /// Lends the database to one user at a time; `unavailable` when it is not open.
  func use<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    guard let result = try useIfOpen(body) else {
      throw StorageError(
        .unavailable, "the store's files are closed", hint: "see that the disk is well")
    }
    return result
  }

  /// Lends the database to one user at a time; gives `nil` when it is not open.
  func useIfOpen<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result? {
    try database.withLock { database throws(StorageError) in
      if let database { try body(database) } else { nil }
    }
  }
}
