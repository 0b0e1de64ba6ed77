private import CSQLite
internal import Glibc
package import KistCore
internal import KistSystem
internal import KistVault

/// The errors with messages of this storage.
extension StorageError {
  /// The store that contained the credentials is missing.
  package static let storeIsGone = StorageError(
    .unavailable, "the encrypted file with your credentials is missing",
    hint:
      "bring it back, from a backup with `kistd restore`, or with the disk that it is on; "
      + "`man kist-troubleshooting` (troubleshooting.md) shows how to start with an empty one")

  /// Another store is in the place of the one that contained the credentials.
  package static let anotherStore = StorageError(
    .unavailable,
    "the encrypted file is not the one that has your credentials: it is another store, or a copy "
      + "from before a `kistd rekey`",
    hint:
      "nothing was changed; put the right one back; or move this one to another directory, and open "
      + "it with `kistd --data DIRECTORY`; or if it is a backup, use `kistd restore`")

  /// The paths of the store no longer lead to the files that are open.
  static func filesReplaced(_ path: String) -> StorageError {
    StorageError(
      .unavailable,
      "the file \(path) or its log was replaced or removed while kistd had it open; kistd does not "
        + "change the file that is there now",
      hint:
        "kistd still has the credentials of the former file: save them with `kist export`; then open "
        + "the present file with `kist lock` and `kist unlock`")
  }

  /// Another program wrote to the open database.
  static func fileChanged(_ path: String) -> StorageError {
    StorageError(
      .corrupt,
      "another program changed the file \(path) while kistd had it open; kistd does not change it",
      hint:
        "`kist load` may still load some credentials of the former file; then open the present file with "
        + "`kist lock` and `kist unlock`, which may ask you to move the former log away")
  }

  /// Another directory is in the place of the one that has the open or locked store.
  static func directoryReplaced(_ path: String) -> StorageError {
    StorageError(
      .unavailable,
      "the directory of \(path) was replaced while kistd was running; kistd does not use the "
        + "directory that is there now",
      hint:
        "while the storage is unlocked, `kist export` saves the former credentials; then "
        + adviceToRestart)
  }

  /// Advice to restart this process, which is the kistd that serves the store.
  static var adviceToRestart: String {
    "restart kistd: `kill \(getpid())`, then start it with the same options"
  }

  /// The log is shorter than its content, so changes in it are lost.
  static func logShortened(_ path: String) -> StorageError {
    StorageError(
      .corrupt,
      "the log \(path)-wal was shortened while kistd had it open, so the latest changes are lost; "
        + "kistd did not change the files",
      hint:
        "save what can still be read with `kist export`; then stop kistd, and restore a backup: the next "
        + "start may refuse the shortened store")
  }

  /// The store was closed, and its log was not merged, for this reason.
  static func closedWithoutLog(_ reason: StorageError) -> StorageError {
    StorageError(
      reason.code,
      "kistd closed the encrypted file without merging its log; the latest changes may be lost: "
        + reason.message,
      hint: "check your credentials after `kist unlock`; `kistd restore` brings back a backup")
  }

  /// The store was put beside a log that another file left.
  static func logOfAnotherFile(_ path: String) -> StorageError {
    let log = shellQuoted(path + "-wal")
    return StorageError(
      .unavailable,
      "the encrypted file \(path) is newer than its log, and has no change of it: the log is from a file "
        + "that was there before",
      hint:
        "nothing was changed; if you put this file there, move the log away: `mv \(log) \(log).old`; "
        + "otherwise, keep its changes: `touch \(log)`")
  }

  /// SQLite finds a fault in the pages.
  static var damagedPages: StorageError { .damagedRows("the pages of the store are damaged") }

  /// The error for a directory in whose place, or above which, there is a file; `nil` if there is none.
  package static func fileInPlace(of directory: String) -> StorageError? {
    fileBlocking(directory: directory).map { file in
      StorageError(
        .unavailable, "\(file) is a file, but kistd needs a directory there",
        hint:
          "move the file away, or name another directory; if it is a store or a backup, name it "
          + "`credentials.db`, in a directory of its own")
    }
  }

  /// A small file is refused; `what` is its name in the error.
  static func unfit(_ file: UnfitFile, _ what: String, _ path: String) -> StorageError {
    if case .notOpened(let code) = file, code != EACCES {
      return .system("opening", path: path, errno: code)
    }
    return StorageError(
      .denied, "the \(what) \(path) \(file.clause)", hint: file.remedy(for: path))
  }

  /// A system call failed.
  static func system(_ what: String, path: String, errno code: CInt = errno) -> StorageError {
    let hint: String? =
      switch code {
      case ENOSPC, EDQUOT: "free some space and try again"
      case EACCES where remedyForClosedDirectory(of: path) != nil:
        remedyForClosedDirectory(of: path)
      case EROFS, EACCES, EPERM:
        "kistd must be able to write it; `--data` and `--key-file` name other places"
      default: nil
      }
    return StorageError(
      Code(errno: code), "\(what) \(path) failed: \(systemText(of: code))", hint: hint)
  }
}

extension StorageError.Code {
  /// Makes the code for an error number of the system (errno(3)).
  package init(errno code: CInt) {
    switch code {
    case ENOSPC, EDQUOT: self = .full
    case EACCES, EPERM: self = .denied
    default: self = .unavailable
    }
  }
}

/// Calls SQLite with `errno` cleared, so that `errno` afterwards belongs to this call.
@inline(__always)
func sqlite(_ call: () -> CInt) -> CInt {
  errno = 0
  return call()
}

extension StorageError {
  /// Makes an error that says why SQLite failed.
  ///
  /// SQLite's extended result code (https://sqlite.org/rescode.html) is not enough: it reports an
  /// exceeded quota as an I/O error, and a disk that cannot be read (EIO) as a damaged file.
  init(database code: CInt, errno system: CInt = errno) {
    let number = "SQLite error \(code)"
    self =
      switch code & 0xFF {
      case SQLITE_IOERR where code == shortRead:
        .corrupt("the store's files are shorter than they should be (\(number))")
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
          hint: "close the other program, and try again")
      case SQLITE_IOERR: .unreadableFiles(number)
      case SQLITE_NOMEM: StorageError(.unavailable, "there is not enough memory for the database")
      default: .internal("the database failed (\(number))")
      }
  }

  private static let noSpace = StorageError(
    .full, "there is no space left for the store", hint: "free some space and try again")

  private static func unreadableFiles(_ number: String) -> StorageError {
    StorageError(
      .unavailable, "the store's files cannot be read or written (\(number))",
      hint: "check the disk, and try again")
  }
}

// SQLITE_IOERR_SHORT_READ, a macro that Swift does not import: the file ends too early.
private let shortRead = SQLITE_IOERR | 2 << 8

/// Returns whether an error number means a failed read, which says nothing about the stored data.
private func isOfTheDisk(_ system: CInt) -> Bool { [EIO, ENXIO, ENOMEM, EINTR].contains(system) }
