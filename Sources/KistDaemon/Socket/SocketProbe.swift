internal import Glibc

/// Whether a program accepts connections at a socket's path.
func isListenedOn(_ path: String) -> Bool {
  let descriptor = socket(
    AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
  guard descriptor >= 0 else { return true }
  defer { close(descriptor) }
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
  let result = unsafe withUnsafePointer(to: &address) {
    unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
  // Any other failure, such as a full backlog, is no proof that nobody listens.
  return result == 0 || (errno != ECONNREFUSED && errno != ENOENT)
}
