internal import Glibc
internal import KistCore
internal import KistWire

/// Lends the address of a Unix socket: unix(7).
///
/// Refuses a path that does not fit into an address, or that contains a NUL, where the system would
/// end the path.
func withAddress(
  of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
) throws(SocketError) -> CInt {
  do throws(StorageError) { _ = try SocketLocation(path: path) } catch { throw .badPath(error) }
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  // One byte is left for the NUL at the end.
  unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
    unsafe field.copyBytes(from: path.utf8)
  }
  return unsafe withUnsafePointer(to: &address) { address in
    unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      unsafe body(address, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
}
