package import Glibc

/// Passes the address of a Unix socket to the closure (unix(7)).
///
/// The name is a path, or a zero byte and an abstract name. It must fit into an address.
package func withAddress<Result>(
  _ name: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
  // Every byte of an abstract name counts, including trailing zeros.
  let size = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
  return unsafe withUnsafePointer(to: &address) { address in
    unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      unsafe body(address, size)
    }
  }
}
