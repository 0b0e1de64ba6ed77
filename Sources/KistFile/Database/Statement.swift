private import CSQLite
internal import KistCore
internal import KistVault

/// A compiled statement of one connection.
@safe
struct Statement {
  let sql: StaticString
  private let handle: OpaquePointer

  init(_ sql: StaticString, of connection: OpaquePointer) throws(StorageError) {
    var handle: OpaquePointer?
    let text = unsafe UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self)
    let status = sqlite {
      unsafe sqlite3_prepare_v3(
        connection, text, CInt(sql.utf8CodeUnitCount), UInt32(SQLITE_PREPARE_PERSISTENT), &handle,
        nil)
    }
    guard status == SQLITE_OK, let handle = unsafe handle else {
      throw StorageError(database: status)
    }
    self.sql = sql
    unsafe self.handle = handle
  }

  /// Finalizes the statement, which must not be used again.
  func release() { unsafe sqlite3_finalize(handle) }

  /// Binds a value to a parameter; the first parameter is 1.
  func bind(_ value: SQLValue, at index: CInt) {
    let status =
      switch value {
      case .integer(let integer): unsafe sqlite3_bind_int64(handle, index, integer)
      case .blob(let bytes):
        unsafe sqlite3_bind_blob(handle, index, bytes, CInt(bytes.count), copyingDestructor)
      }
    precondition(status == SQLITE_OK, "a statement was given a value that it has no place for")
  }

  /// Binds two values during a call, without copying them.
  func withBound<Result>(
    _ first: Span<UInt8>, _ second: Span<UInt8>, at firstIndex: CInt, _ secondIndex: CInt,
    _ body: () throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    try unsafe first.withUnsafeBytes { first throws(StorageError) in
      try unsafe second.withUnsafeBytes { second throws(StorageError) in
        // Ends the binding before the bytes are released.
        defer { reset() }
        unsafe sqlite3_bind_blob(handle, firstIndex, first.baseAddress, CInt(first.count), nil)
        unsafe sqlite3_bind_blob(handle, secondIndex, second.baseAddress, CInt(second.count), nil)
        return try body()
      }
    }
  }

  /// Steps to the next row; returns `nil` when there are no more.
  func next() throws(StorageError) -> SQLColumns? {
    switch sqlite({ unsafe sqlite3_step(handle) }) {
    case SQLITE_ROW: return unsafe SQLColumns(handle)
    case SQLITE_DONE: return nil
    case let status: throw StorageError(database: status)
    }
  }

  /// Ends a run and clears the parameters.
  func reset() {
    // The result is ignored, because it only repeats the error of the last step.
    unsafe sqlite3_reset(handle)
    unsafe sqlite3_clear_bindings(handle)
  }
}

/// A value for a parameter of a statement.
enum SQLValue {
  case blob([UInt8])
  case integer(Int64)
}

// SQLITE_TRANSIENT, a cast that Swift does not import.
private let copyingDestructor = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)

/// The columns of one row, valid until the next step.
@safe
struct SQLColumns {
  private let statement: OpaquePointer

  fileprivate init(_ statement: OpaquePointer) { unsafe self.statement = statement }

  func integer(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

  func blob(_ column: CInt) -> [UInt8] { unsafe [UInt8](bytes(column)) }

  func text(_ column: CInt) -> String { String(decoding: blob(column), as: UTF8.self) }

  /// Returns a tag; throws `corrupt` unless it is a blob of the right size, as a lookup requires.
  func tag(_ column: CInt) throws(StorageError) -> Tag {
    let isBlob = unsafe sqlite3_column_type(statement, column) == SQLITE_BLOB
    return try withBlob(column) { bytes throws(StorageError) in
      guard isBlob, let tag = Tag(bytes) else {
        throw .damagedRows("a stored credential has no valid address")
      }
      return tag
    }
  }

  /// The number of the change that wrote a row, in column 3; throws where it is impossible.
  var sequence: UInt64 {
    get throws(StorageError) {
      let number = integer(3)
      guard number > 0 else {
        throw .damagedRows("a stored credential has an invalid change number")
      }
      return UInt64(number)
    }
  }

  /// The identity of a row, whose tags and sequence are in the columns 1 to 3.
  var identity: RowIdentity {
    get throws(StorageError) {
      RowIdentity(tag: RowTag(service: try tag(1), key: try tag(2)), sequence: try sequence)
    }
  }

  /// Calls the body with the bytes of a blob in SQLite's own memory.
  func withBlob<Result>(
    _ column: CInt, _ body: (Span<UInt8>) throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    let bytes = unsafe Span<UInt8>(_unsafeBytes: bytes(column))
    return try body(bytes)
  }

  private func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
    // Get the pointer before the size, because getting it may change the size.
    let start = unsafe sqlite3_column_blob(statement, column)
    let count = Int(unsafe sqlite3_column_bytes(statement, column))
    return unsafe UnsafeRawBufferPointer(start: start, count: count)
  }
}
