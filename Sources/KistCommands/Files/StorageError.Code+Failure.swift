internal import Glibc
internal import KistCore

extension StorageError.Code {
  /// Creates the code for a failure (errno(3)) to open a file or directory that the user named.
  init(failure: CInt) {
    self =
      switch failure {
      case EACCES, EPERM, EROFS: .denied
      case ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: .badRequest
      case ENOSPC, EDQUOT: .full
      default: .unavailable
      }
  }
}
