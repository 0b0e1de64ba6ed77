internal import Glibc
package import KistCore
internal import KistSystem

/// The errors that this storage words.
extension StorageError {
  /// What is stored is damaged, or was changed by somebody without the key.
  static func corrupt(_ message: String) -> StorageError {
    StorageError(
      .corrupt, message,
      hint:
        "nothing was overwritten; `kistd fsck` says what is wrong; restore the store from a backup, "
        + "or move it away to begin anew")
  }

  /// Some rows are damaged, or were changed; the others can be loaded.
  static func damagedRows(_ message: String) -> StorageError {
    StorageError(
      .corrupt, message,
      hint:
        "what is whole is still loaded (`kist load`) and nothing was overwritten; `kistd fsck` says "
        + "what is wrong, and with `--salvage DIRECTORY` saves what is whole; or restore the store "
        + "from a backup")
  }

  /// The store that credentials have been kept in is not there.
  package static var storeIsGone: StorageError {
    StorageError(
      .unavailable, "credentials are kept in the encrypted file, which is not there",
      hint: "bring it back, from a backup with `kistd restore`, or with the disk that it is on; a "
        + "new one is not made")
  }

  /// Another store is where the one was that credentials have been kept in.
  package static var anotherStore: StorageError {
    StorageError(
      .unavailable, "the encrypted file is not the one that credentials have been kept in",
      hint: "bring that one back, or name the directory of this one with --data")
  }

  static var wrongRows: StorageError {
    .damagedRows("credentials in the store were removed, put back or changed")
  }

  static var damagedPages: StorageError { .damagedRows("the pages of the store are damaged") }

  static var unauthenticRow: StorageError {
    .damagedRows("a stored credential fails authentication")
  }

  /// What is authentic and still cannot be read.
  static var malformed: StorageError { .corrupt("what is stored does not follow the format") }

  static var closed: StorageError { StorageError(.unavailable, "the storage is closed") }

  /// A call to the system failed.
  static func system(_ what: String, path: String, errno code: CInt = errno) -> StorageError {
    let hint: String? =
      switch code {
      case ENOSPC, EDQUOT: "free some space and try again"
      case EROFS, EACCES, EPERM:
        "it must be kistd's to write; `--data` and `--key-file` name other places"
      default: nil
      }
    return StorageError(
      Code(errno: code), "\(what) \(path) failed: \(systemText(of: code))", hint: hint)
  }
}

extension StorageError.Code {
  /// What an error number of the system is to whoever asked (errno(3)): a file that may not be used is
  /// `denied`, and one that cannot be is `unavailable`.
  package init(errno code: CInt) {
    switch code {
    case ENOSPC, EDQUOT: self = .full
    case EACCES, EPERM: self = .denied
    default: self = .unavailable
    }
  }
}
