internal import KistCore
private import Synchronization

/// A connection to the database, which one thread uses at a time and which can be reopened.
final class Connection: Sendable {
  private let database = Mutex<Database?>(nil)
  private let path: String
  private let readonly: Bool
  private let cacheKibibytes: Int
  private let keepsLog: Bool

  /// Makes a closed connection that can read, or also write, with a page cache of this size in KiB.
  ///
  /// With `keepsLog`, closing leaves the log as it is, unless `close` decides otherwise.
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

  /// Closes the connection when its current user is done.
  ///
  /// - Parameter mergingLog: whether closing may merge the log into the database.
  func close(mergingLog: Bool = true) {
    database.withLock { database in
      if mergingLog { database?.keepLog(false) }
      database = nil
    }
  }

  /// Releases the memory of cached pages, unless the connection is in use.
  func releaseMemory() { database.withLockIfAvailable { $0?.releaseMemory() } }

  /// Calls the body with the database, one user at a time; throws `unavailable` when it is not
  /// open.
  func use<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    guard let result = try useIfOpen(body) else {
      throw StorageError(
        .unavailable, "the store's files are closed", hint: "see that the disk is well")
    }
    return result
  }

  /// Calls the body with the database, one user at a time; returns `nil` when it is not open.
  func useIfOpen<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result? {
    try database.withLock { database throws(StorageError) in
      if let database { try body(database) } else { nil }
    }
  }
}
