internal import Glibc

/// Lends the address of a Unix socket; refuses a path that does not fit into one (107 bytes at most),
/// or has a NUL in it, behind which the system would not look: unix(7).
func withAddress(
  of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
) throws(SocketError) -> CInt {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  let path = Array(path.utf8)
  let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
    // One byte is left for the NUL at the end.
    guard !path.isEmpty, !path.contains(0), path.count < field.count else { return false }
    unsafe field.copyBytes(from: path)
    return true
  }
  guard fits else { throw .badPath }
  return unsafe withUnsafePointer(to: &address) { address in
    unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      unsafe body(address, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
}
