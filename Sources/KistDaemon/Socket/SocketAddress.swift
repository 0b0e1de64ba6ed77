internal import Glibc

/// Lends the address of a Unix socket, by its path, or by its abstract name behind a zero byte, which
/// must fit into one: unix(7).
func withAddress<Result>(
  _ name: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
  // Of an abstract name every byte counts, also the zeros behind it.
  let size = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
  return unsafe withUnsafePointer(to: &address) { address in
    unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      unsafe body(address, size)
    }
  }
}
