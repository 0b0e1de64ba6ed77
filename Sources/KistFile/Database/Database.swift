internal import CSQLite
internal import KistCore
internal import KistVault

/// A connection to an SQLite database, for one thread at a time.
///
/// It uses SQLite's `unix-excl` (https://sqlite.org/vfs.html): the first connection that may write
/// locks out every other process. The connections of this process share their state in memory
/// instead of in file locks, so that a read makes no system call.
@safe
final class Database {
  private let connection: OpaquePointer
  // There are few statements, so comparing the address of the text is cheaper than hashing it.
  private var statements: [Statement] = []
  // The number of frames in the log after the last commit of this connection, -1 before the first; and
  // whether the log was merged.
  // SQLite writes to it, so its address must not change.
  private let log: UnsafeMutablePointer<CInt>
  private var pageSize: Int?

  /// The number of the snapshot that reads see, where one is kept.
  var snapshot: Int?

  /// Opens an existing file to read it, or also to write it, with a page cache of this size in KiB.
  convenience init(
    path: String, readonly: Bool, cacheKibibytes: Int, keepsLog: Bool = false
  ) throws(StorageError) {
    try self.init(
      name: Self.name(of: path), readonly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE,
      "unix-excl",
      ["cache_size = -\(cacheKibibytes)"] + (readonly ? [] : Self.pragmasForWriting),
      keepsLog: keepsLog)
  }

  /// Opens a file to inspect it, without changing the file, its log or the files beside it.
  ///
  /// No other process may use the file. The content of the log is read as part of the database.
  convenience init(inspecting path: String, hasLog: Bool) throws(StorageError) {
    let escapes: [Character: String] = ["%": "%25", "?": "%3f", "#": "%23"]
    let escaped = Self.name(of: path).map { escapes[$0] ?? String($0) }.joined()
    // No locks, because locks need a writable file; the log's index is then in memory. SQLite would
    // create a missing log, except for a file marked as immutable.
    try self.init(
      name: "file:\(escaped)" + (hasLog ? "" : "?immutable=1"),
      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, "unix-none", ["locking_mode = EXCLUSIVE"],
      keepsLog: true)
  }

  // SQLite may treat a name that begins with `file:` as a URI, and `:memory:` as memory.
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
    unsafe log = .allocate(capacity: 2)
    unsafe log[0] = -1
    unsafe log[1] = 0
    unsafe kist_sqlite_note_commits(connection, log)
    // SQLite silently opens a file for reading when it cannot open it for writing.
    if flags & SQLITE_OPEN_READWRITE != 0, unsafe sqlite3_db_readonly(connection, "main") != 0 {
      throw StorageError(database: SQLITE_READONLY)
    }
    unsafe sqlite3_busy_timeout(connection, 1000)
    unsafe kist_sqlite_harden(connection)
    for (limit, most) in Self.limits { unsafe sqlite3_limit(connection, limit, most) }
    keepLog(keepsLog)
    // A forged schema may link its pages endlessly.
    unsafe kist_sqlite_limit_steps(connection, 1_000_000)
    defer { unsafe kist_sqlite_limit_steps(connection, 0) }
    for pragma in [
      "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "temp_store = MEMORY",
    ] + pragmas {
      try execute("PRAGMA \(pragma)")
    }
    // Forces SQLite to read the schema.
    try execute("SELECT 1 FROM sqlite_schema LIMIT 1")
  }

  // A forged row may claim any length, with pages that link in a circle. SQLite checks the length
  // of each value before it allocates memory for it (https://sqlite.org/limits.html).
  private static let limits: [(limit: CInt, most: CInt)] = [
    (SQLITE_LIMIT_LENGTH, CInt(StoreFormat.longestRow)), (SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
    (SQLITE_LIMIT_EXPR_DEPTH, 100), (SQLITE_LIMIT_TRIGGER_DEPTH, 1), (SQLITE_LIMIT_ATTACHED, 0),
  ]

  private static let start: Void = kist_sqlite_start()

  private static let pragmasForWriting = [
    "journal_mode = WAL", "synchronous = FULL",
    // Overwrites removed data, such as a key slot.
    "secure_delete = ON",
    // The maximum size of the log after a large save, once SQLite reuses it.
    "journal_size_limit = 8388608",
  ]

  deinit {
    for statement in statements { statement.release() }
    unsafe sqlite3_close_v2(connection)
    unsafe log.deallocate()
  }

  var isInsideTransaction: Bool { unsafe sqlite3_get_autocommit(connection) == 0 }

  func releaseMemory() { unsafe sqlite3_db_release_memory(connection) }

  /// Returns the size of the part of the log that counts; `nil` before this connection's first commit.
  func logSize() throws(StorageError) -> Int? {
    let count = unsafe Int(log[0])
    guard count > 0 else { return count == 0 ? 0 : nil }
    if pageSize == nil { pageSize = try number("PRAGMA page_size").map(Int.init) }
    return pageSize.map { LogFrames.size(of: count, pageSize: $0) }
  }

  /// Returns whether a merge of the log may have written to the database since the last call.
  func takeMerged() -> Bool {
    defer { unsafe log[1] = 0 }
    return unsafe log[1] != 0
  }

  /// Merges the log into the database and waits until it is on disk; `false` when it could not.
  func checkpoint() throws(StorageError) -> Bool {
    unsafe log[1] = 1
    return try number("PRAGMA wal_checkpoint(FULL)") == 0
  }

  /// Merges and empties the log, so that no removed data is left; `false` when a reader uses it.
  func emptyLog() throws(StorageError) -> Bool {
    unsafe log[1] = 1
    guard try number("PRAGMA wal_checkpoint(TRUNCATE)") == 0 else { return false }
    unsafe log[0] = 0
    return true
  }

  /// Sets whether closing this connection leaves the log as it is.
  func keepLog(_ keeps: Bool) { unsafe kist_sqlite_keep_log(connection, keeps ? 1 : 0) }

  /// Runs a statement once, without parameters, and ignores its rows.
  func execute(_ sql: String) throws(StorageError) {
    let status = sqlite { unsafe sqlite3_exec(connection, sql, nil, nil, nil) }
    if status != SQLITE_OK { throw StorageError(database: status) }
  }

  /// Returns the compiled statement for a text; compiles it on first use and keeps it.
  func statement(_ sql: StaticString) throws(StorageError) -> Statement {
    for statement in statements where unsafe statement.sql.utf8Start == sql.utf8Start {
      return statement
    }
    let statement = try unsafe Statement(sql, of: connection)
    statements.append(statement)
    return statement
  }
}

extension Database {
  /// Whether a statement continues with the next row.
  enum Next { case more, enough }

  /// Runs a statement and calls the body with each row, until the body returns `enough`.
  func run(
    _ sql: StaticString, _ values: [SQLValue] = [],
    rows body: (SQLColumns) throws(StorageError) -> Next
  ) throws(StorageError) {
    let statement = try statement(sql)
    // An unfinished statement would keep its snapshot of the database.
    defer { statement.reset() }
    for (index, value) in values.enumerated() { statement.bind(value, at: CInt(index + 1)) }
    while let columns = try statement.next() {
      if try body(columns) == .enough { return }
    }
  }

  /// Runs a statement and returns its rows as values.
  func rows<Row>(_ sql: StaticString, _ value: (SQLColumns) -> Row) throws(StorageError) -> [Row] {
    var rows: [Row] = []
    try run(sql) { columns in
      rows.append(value(columns))
      return .more
    }
    return rows
  }

  /// Returns the number in the first row of a statement; `nil` where it has none.
  func number(_ sql: StaticString) throws(StorageError) -> Int64? {
    try rows(sql) { $0.integer(0) }.first
  }

  /// Runs a statement and ignores its rows.
  func run(_ sql: StaticString, _ values: SQLValue...) throws(StorageError) {
    try run(sql, values) { _ in .more }
  }
}
