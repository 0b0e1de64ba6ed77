internal import Glibc
internal import KistCore

extension StorageError.Code {
  /// What kind of failure it is that a file or a folder cannot be had that a person named: errno(3).
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
