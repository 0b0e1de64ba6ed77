internal import Glibc

/// Returns whether a descriptor is a file of this user that no other user may read.
package func isPrivateFile(_ descriptor: CInt) -> Bool {
  guard let status = status(of: descriptor) else { return false }
  return status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0
    && status.st_uid == geteuid()
}

/// Returns whether a descriptor is a socket, or a pipe that no other user may open.
///
/// A named pipe may have any mode. An unnamed one has mode 0600, regardless of its creator.
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
