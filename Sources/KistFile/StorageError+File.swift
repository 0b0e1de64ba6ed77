internal import Glibc
package import KistCore
internal import KistSystem
internal import KistVault

/// The errors with messages of this storage.
extension StorageError {
  /// The store that contained the credentials is missing.
  package static var storeIsGone: StorageError {
    StorageError(
      .unavailable, "credentials are kept in the encrypted file, which is not there",
      hint: "bring it back, from a backup with `kistd restore`, or with the disk that it is on; a "
        + "new one is not made")
  }

  /// Another store is in the place of the one that contained the credentials.
  package static var anotherStore: StorageError {
    StorageError(
      .unavailable, "the encrypted file is not the one that credentials have been kept in",
      hint: "bring that one back, or name the directory of this one with --data")
  }

  /// SQLite finds a fault in the pages.
  static var damagedPages: StorageError { .damagedRows("the pages of the store are damaged") }


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
      case EROFS, EACCES, EPERM:
        "it must be kistd's to write; `--data` and `--key-file` name other places"
      default: nil
      }
    return StorageError(
      Code(errno: code), "\(what) \(path) failed: \(systemText(of: code))", hint: hint)
  }
}

extension StorageError.Code {
  /// Makes the code for an error number of the system (errno(3)).
  ///
  /// A file without permission is `denied`. Another file that cannot be used is `unavailable`.
  package init(errno code: CInt) {
    switch code {
    case ENOSPC, EDQUOT: self = .full
    case EACCES, EPERM: self = .denied
    default: self = .unavailable
    }
  }
}
