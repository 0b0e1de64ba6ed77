private import CSQLite
internal import GRDB
internal import KistCore
private import Synchronization

/// One connection to the database, which one thread uses at a time and which can be closed and
/// opened again.
final class Connection: Sendable {
  private let queue = Mutex<DatabaseQueue?>(nil)
  private let path: String
  private let configuration: Configuration

  /// Describes a connection that reads, or also writes, and keeps so many KiB of pages.
  init(path: String, readonly: Bool, cacheKibibytes: Int) {
    self.path = path
    var configuration = Configuration()
    configuration.readonly = readonly
    configuration.busyMode = .timeout(1)
    configuration.prepareDatabase { database in
      unsafe kist_sqlite_harden(database.sqliteConnection)
      for pragma in [
        "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "temp_store = MEMORY",
        "cache_size = -\(cacheKibibytes)",
      ] + (readonly ? [] : ["journal_mode = WAL", "synchronous = FULL"]) {
        try database.execute(sql: "PRAGMA \(pragma)")
      }
      // What the log keeps of a large save when it is begun anew.
      if !readonly { try database.execute(sql: "PRAGMA journal_size_limit = 8388608") }
    }
    self.configuration = configuration
  }

  /// Opens the connection, if it is not open.
  func open() throws(StorageError) {
    try queue.withLock { queue throws(StorageError) in
      if queue == nil {
        queue = try rethrowing { try DatabaseQueue(path: path, configuration: configuration) }
      }
    }
  }

  /// Closes the connection once its user is done with it.
  func close() {
    queue.withLock { queue in
      // A connection that cannot be closed is left to SQLite, which frees it with its statements.
      try? queue?.close()
      queue = nil
    }
  }

  /// Lends the database to one user at a time.
  func use<Result: Sendable>(
    _ body: (Database) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try queue.withLock { queue throws(StorageError) in
      guard let queue else {
        throw StorageError(
          .unavailable, "the store's files could not be opened again after an error",
          hint: "see that the disk is well; the next save opens them again")
      }
      return try queue.inDatabase { database in
        Swift.Result { () throws(StorageError) in try body(database) }
      }.get()
    }
  }
}
