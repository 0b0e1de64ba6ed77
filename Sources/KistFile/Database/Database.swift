internal import CSQLite
internal import KistCore

/// A connection to an SQLite database, for one thread at a time.
///
/// It is opened with SQLite's `unix-excl` (https://sqlite.org/vfs.html): the first connection that
/// may write keeps every other process out, and what the connections of this process tell each other
/// lies in its memory instead of in locks on a file, so that a read makes no system call.
@safe
final class Database {
  private let connection: OpaquePointer
  // A handful: to look one up by the address of its text costs less than to hash the text.
  private var statements: [Statement] = []

  /// The number of the snapshot that reads see, where one is kept.
  var snapshot: Int?

  /// Opens a file that is there, to read it or also to write it, and keeps so many KiB of its pages.
  ///
  /// - Parameter keepsLog: whether the log stays as it is when this connection is closed.
  convenience init(
    path: String, readonly: Bool, cacheKibibytes: Int, keepsLog: Bool = false
  ) throws(StorageError) {
    try self.init(
      name: Self.name(of: path), readonly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE,
      "unix-excl",
      ["cache_size = -\(cacheKibibytes)"] + (readonly ? [] : Self.pragmasForWriting),
      keepsLog: keepsLog)
  }

  /// Opens a file to look at what is in it, and changes nothing: neither the file, nor its log, nor
  /// what stands beside them.
  ///
  /// There must be no other user of the file. What is in the log is read as a part of it.
  convenience init(inspecting path: String, hasLog: Bool) throws(StorageError) {
    let escaped = Self.name(of: path).reduce(into: "") { escaped, character in
      switch character {
      case "%": escaped += "%25"
      case "?": escaped += "%3f"
      case "#": escaped += "%23"
      default: escaped.append(character)
      }
    }
    // Without locks, for those need a file that may be written; its index is then in memory. A log
    // would be made where there is none, but not for a file that says that it never changes.
    try self.init(
      name: "file:\(escaped)" + (hasLog ? "" : "?immutable=1"),
      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, "unix-none", ["locking_mode = EXCLUSIVE"],
      keepsLog: true)
  }

  // SQLite may take what begins with `file:` for a URI, and `:memory:` for no file.
  private static func name(of path: String) -> String { path.hasPrefix("/") ? path : "./" + path }

  private init(
    name: String, _ flags: CInt, _ system: String, _ pragmas: [String], keepsLog: Bool
  ) throws(StorageError) {
    Self.start
    var connection: OpaquePointer?
    let status = sqlite {
      unsafe sqlite3_open_v2(
        name, &connection, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, system)
    }
    guard status == SQLITE_OK, let connection = unsafe connection else {
      let error = StorageError(database: status)
      unsafe sqlite3_close_v2(connection)
      throw error
    }
    unsafe self.connection = connection
    // SQLite opens a file for reading that it cannot open for writing, and says nothing.
    if flags & SQLITE_OPEN_READWRITE != 0, unsafe sqlite3_db_readonly(connection, "main") != 0 {
      throw StorageError(database: SQLITE_READONLY)
    }
    unsafe sqlite3_busy_timeout(connection, 1000)
    unsafe kist_sqlite_harden(connection)
    keepLog(keepsLog)
    // A schema that somebody planted may lead from page to page without an end.
    unsafe kist_sqlite_limit_steps(connection, 1_000_000)
    defer { unsafe kist_sqlite_limit_steps(connection, 0) }
    for pragma in [
      "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "temp_store = MEMORY",
    ] + pragmas {
      try execute("PRAGMA \(pragma)")
    }
    // Has it read.
    try execute("SELECT 1 FROM sqlite_schema LIMIT 1")
  }

  private static let start: Void = kist_sqlite_start()

  private static let pragmasForWriting = [
    "journal_mode = WAL", "synchronous = FULL",
    // What is removed is written over, such as a key slot.
    "secure_delete = ON",
    // What the log keeps of a large save when it is begun anew.
    "journal_size_limit = 8388608",
  ]

  deinit {
    for statement in statements { statement.release() }
    unsafe sqlite3_close_v2(connection)
  }

  /// Whether a transaction is open.
  var isInsideTransaction: Bool { unsafe sqlite3_get_autocommit(connection) == 0 }

  /// Gives back the memory of the pages that are kept.
  func releaseMemory() { unsafe sqlite3_db_release_memory(connection) }

  /// Says whether the log stays as it is when this connection is closed.
  func keepLog(_ keeps: Bool) { unsafe kist_sqlite_keep_log(connection, keeps ? 1 : 0) }

  /// Runs a statement that is needed once and has no parameters; its rows are of no interest.
  func execute(_ sql: String) throws(StorageError) {
    try check(sqlite { unsafe sqlite3_exec(connection, sql, nil, nil, nil) })
  }

  /// The statement of a text, compiled when it is first asked for and kept.
  func statement(_ sql: StaticString) throws(StorageError) -> Statement {
    for statement in statements where unsafe statement.sql.utf8Start == sql.utf8Start {
      return statement
    }
    let statement = try unsafe Statement(sql, of: connection)
    statements.append(statement)
    return statement
  }

  private func check(_ status: CInt) throws(StorageError) {
    if status != SQLITE_OK { throw StorageError(database: status) }
  }
}
