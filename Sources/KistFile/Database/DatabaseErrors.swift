private import CSQLite
internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistVault

/// Calls SQLite with `errno` cleared, so that `errno` afterwards belongs to this call.
@inline(__always)
func sqlite(_ call: () -> CInt) -> CInt {
  errno = 0
  return call()
}

extension StorageError {
  /// Makes an error that says why SQLite failed.
  ///
  /// The code of SQLite is not enough. It reports an exceeded quota as an I/O error, and a disk
  /// that cannot be read (EIO) as a damaged file.
  ///
  /// - Parameter code: an extended result code (https://sqlite.org/rescode.html).
  /// - Parameter system: the error number of the last failed system call, or 0.
  init(database code: CInt, errno system: CInt = errno) {
    let number = "SQLite error \(code)"
    self =
      switch code & 0xFF {
      case SQLITE_IOERR where isFull(system), SQLITE_CANTOPEN where isFull(system): .noSpace
      case SQLITE_CORRUPT where isOfTheDisk(system): .unreadableFiles(number)
      case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_MISMATCH,
        SQLITE_CONSTRAINT, SQLITE_TOOBIG, SQLITE_INTERRUPT:
        .corrupt("the store's database is damaged (\(number))")
      case SQLITE_FULL: .noSpace
      case SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN, SQLITE_AUTH:
        StorageError(
          .unavailable, "the store's files cannot be opened for writing (\(number))",
          hint: "make the store's directory and files writable for kistd")
      case SQLITE_BUSY, SQLITE_LOCKED:
        StorageError(
          .unavailable, "another program has the store's database locked",
          hint: "close whatever else has it open, and try again")
      case SQLITE_IOERR: .unreadableFiles(number)
      case SQLITE_NOMEM: StorageError(.unavailable, "there is no memory for the database")
      default: .internal("the database failed (\(number))")
      }
  }

  private static var noSpace: StorageError {
    StorageError(
      .full, "there is no space left for the store", hint: "free some space and try again")
  }

  private static func unreadableFiles(_ number: String) -> StorageError {
    StorageError(
      .unavailable, "the store's files cannot be read or written (\(number))",
      hint: "look at the disk, and try again")
  }
}

/// Returns whether an error number means a failed read, which says nothing about the stored data.
private func isOfTheDisk(_ system: CInt) -> Bool { [EIO, ENXIO, ENOMEM, EINTR].contains(system) }
