internal import Glibc
package import KistCore
internal import NIOCore

/// Makes a listening Unix socket at an unused path, with mode 0600 whatever the umask.
///
/// The descriptor is closed when another program is started.
package func listen(at path: String) throws(StorageError) -> CInt {
  do {
    let address = try SocketAddress(unixDomainSocketPath: path)
    let descriptor = socket(
      AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
    do {
      try bind(descriptor, to: address)
      // The umask may have removed permissions.
      guard unsafe chmod(path, 0o600) == 0 else { throw IOError(errnoCode: errno, reason: "chmod") }
      guard Glibc.listen(descriptor, backlog) == 0 else {
        throw IOError(errnoCode: errno, reason: "listen")
      }
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  } catch {
    throw StorageError(.unavailable, "cannot listen at \(path): \(error)")
  }
}

/// The number of connections that wait to be accepted; further clients wait to connect.
private let backlog: CInt = 128

private func bind(_ descriptor: CInt, to address: SocketAddress) throws {
  // Linux gives the file the mode of the socket minus the umask, so the file is never more open.
  guard fchmod(descriptor, 0o600) == 0 else { throw IOError(errnoCode: errno, reason: "fchmod") }
  let result = unsafe address.withSockAddr { unsafe Glibc.bind(descriptor, $0, socklen_t($1)) }
  guard result == 0 else { throw IOError(errnoCode: errno, reason: "bind") }
}
