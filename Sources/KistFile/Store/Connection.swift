internal import KistCore
private import Synchronization

/// A connection to the database, which one thread uses at a time and which can be reopened.
final class Connection: Sendable {
  private let database = Mutex<Database?>(nil)
  private let make: @Sendable (_ keepsLog: Bool) throws(StorageError) -> Database

  /// Makes a closed connection that can read, or also write, with a page cache of this size in KiB.
  init(path: String, readonly: Bool, cacheKibibytes: Int) {
    make = { keepsLog throws(StorageError) in
      try Database(
        path: path, readonly: readonly, cacheKibibytes: cacheKibibytes, keepsLog: keepsLog)
    }
  }

  /// Opens the connection, if it is not open.
  ///
  /// With `keepsLog`, closing leaves the log as it is, unless `close` decides otherwise.
  func open(keepsLog: Bool = false) throws(StorageError) {
    try database.withLock { database throws(StorageError) in
      if database == nil { database = try make(keepsLog) }
    }
  }

  /// Closes the connection when its current user is done; this may merge the log into the database.
  ///
  /// - Parameter keepsLog: whether it leaves the log as it is; `nil` means as `open` decided.
  func close(keepsLog: Bool? = nil) {
    database.withLock { database in
      if let keepsLog { database?.keepLog(keepsLog) }
      database = nil
    }
  }

  /// Releases the memory of cached pages, unless the connection is in use.
  func releaseMemory() { database.withLockIfAvailable { $0?.releaseMemory() } }

  /// Calls the body with the database; returns `nil` when it is in use or not open.
  func useIfFree<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result? {
    try database.withLockIfAvailable { database throws(StorageError) in
      if let database { try body(database) } else { nil }
    } ?? nil
  }

  /// Calls the body as `useIfOpen` does; throws `unavailable` when the database is not open.
  func use<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    if let result = try useIfOpen(body) { return result }
    throw StorageError(
      .unavailable, "the store's files are closed", hint: "check the disk")
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
