private import CSQLite
internal import KistCore

extension StorageError {
  /// Says in our words why SQLite failed: an extended result code (https://sqlite.org/rescode.html).
  init(database code: CInt) {
    let number = "SQLite error \(code)"
    self =
      switch code & 0xFF {
      case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_MISMATCH,
        SQLITE_CONSTRAINT, SQLITE_TOOBIG:
        .corrupt("the store's database is damaged (\(number))")
      case SQLITE_FULL:
        StorageError(
          .full, "there is no space left for the store", hint: "free some space and try again")
      case SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN, SQLITE_AUTH:
        StorageError(
          .unavailable, "the store's files cannot be opened for writing (\(number))",
          hint: "make the store's directory and files writable for kistd")
      case SQLITE_BUSY, SQLITE_LOCKED:
        StorageError(
          .unavailable, "another program has the store's database locked",
          hint: "close whatever else has it open, and try again")
      case SQLITE_IOERR:
        StorageError(
          .unavailable, "the store's files cannot be read or written (\(number))",
          hint: "look at the disk, and try again")
      case SQLITE_NOMEM: StorageError(.unavailable, "there is no memory for the database")
      default: .internal("the database failed (\(number))")
      }
  }
}
