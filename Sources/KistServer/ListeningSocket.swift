internal import Glibc
package import KistCore
internal import NIOCore

/// Makes a listening Unix socket at an unused path, with mode 0600 whatever the umask.
///
/// The descriptor is closed when another program is started.
package func listen(at path: String) throws(StorageError) -> CInt {
  do {
    let address = try SocketAddress(unixDomainSocketPath: path)
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = try checked("socket", socket(AF_UNIX, CInt(kind), 0))
    do {
      // Linux gives the file the mode of the socket minus the umask, so it is never more open.
      try checked("fchmod", fchmod(descriptor, 0o600))
      _ = try unsafe address.withSockAddr { address, size in
        try checked("bind", unsafe bind(descriptor, address, socklen_t(size)))
      }
      // The umask may have removed permissions.
      try checked("chmod", unsafe chmod(path, 0o600))
      // The number of connections that wait to be accepted; further clients wait to connect.
      try checked("listen", Glibc.listen(descriptor, 128))
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  } catch {
    throw StorageError(.unavailable, "cannot listen at \(path): \(error)")
  }
}

/// Returns the result of a system call, or throws its error.
@discardableResult
func checked(_ call: String, _ result: CInt) throws -> CInt {
  guard result >= 0 else { throw IOError(errnoCode: errno, reason: call) }
  return result
}
