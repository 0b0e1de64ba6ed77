internal import Glibc

/// Whether a descriptor is of a file of this user's, which no other may read.
package func isPrivateFile(_ descriptor: CInt) -> Bool {
  guard let status = status(of: descriptor) else { return false }
  return status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0
    && status.st_uid == geteuid()
}

/// Whether a descriptor is of a socket, or of a pipe that no other user may open: one with a name may have
/// any mode, one without has 0600, whoever made it.
package func isPrivatePipe(_ descriptor: CInt) -> Bool {
  guard let status = status(of: descriptor) else { return false }
  return switch status.st_mode & S_IFMT {
  case S_IFSOCK: true
  case S_IFIFO: status.st_mode & 0o077 == 0
  default: false
  }
}

private func status(of descriptor: CInt) -> stat? {
  var status = stat()
  return unsafe fstat(descriptor, &status) == 0 ? status : nil
}
