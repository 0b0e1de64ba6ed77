internal import GRDB
private import GRDBSQLite
internal import KistCore

// Statements are run through SQLite itself: a load costs half of what GRDB's rows would make of it.

/// A value for a parameter of a statement.
enum SQLValue {
  case blob([UInt8])
  case integer(Int64)
}

/// The columns of one row, valid until the next.
@safe
struct SQLColumns {
  private let statement: OpaquePointer

  fileprivate init(_ statement: OpaquePointer) { unsafe self.statement = unsafe statement }

  func integer(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

  func blob(_ column: CInt) -> [UInt8] {
    // The pointer must be asked for before the size, which it may change.
    let bytes = unsafe sqlite3_column_blob(statement, column)
    let count = Int(unsafe sqlite3_column_bytes(statement, column))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
  }

  func text(_ column: CInt) -> String { String(decoding: blob(column), as: UTF8.self) }
}

extension Database {
  /// Runs a statement and lends its rows, until there are no more or the body has enough.
  func run(
    _ sql: String, _ values: [SQLValue] = [], rows body: (SQLColumns) throws(StorageError) -> Next
  ) throws(StorageError) {
    let statement = try rethrowing { try cachedStatement(sql: sql) }
    // An unfinished statement would hold its snapshot of the database.
    defer {
      unsafe sqlite3_reset(statement.sqliteStatement)
      unsafe sqlite3_clear_bindings(statement.sqliteStatement)
    }
    for (index, value) in values.enumerated() {
      unsafe bind(value, at: CInt(index + 1), of: statement.sqliteStatement)
    }
    while try unsafe step(statement.sqliteStatement) {
      let columns = unsafe SQLColumns(statement.sqliteStatement)
      if try body(columns) == .enough { return }
    }
  }

  /// Whether a statement goes on to the next row.
  enum Next { case more, enough }

  /// Runs a statement whose rows, if it gives any, are of no interest.
  func run(_ sql: String, _ values: SQLValue...) throws(StorageError) {
    try run(sql, values) { _ in .more }
  }
}

private func bind(_ value: SQLValue, at index: CInt, of statement: OpaquePointer) {
  let status =
    switch value {
    case .integer(let integer): unsafe sqlite3_bind_int64(statement, index, integer)
    case .blob(let bytes):
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe sqlite3_bind_blob(
          statement, index, bytes.baseAddress, CInt(bytes.count), copyingDestructor)
      }
    }
  precondition(status == SQLITE_OK, "a statement was given a value that it has no place for")
}

// SQLITE_TRANSIENT, a cast that Swift does not import.
private let copyingDestructor = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)

private func step(_ statement: OpaquePointer) throws(StorageError) -> Bool {
  switch unsafe sqlite3_step(statement) {
  case SQLITE_ROW: return true
  case SQLITE_DONE: return false
  default:
    let code = unsafe sqlite3_extended_errcode(sqlite3_db_handle(statement))
    throw StorageError(database: ResultCode(rawValue: code))
  }
}
