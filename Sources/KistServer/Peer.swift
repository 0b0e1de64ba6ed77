internal import Glibc
internal import NIOCore

/// The process at the other end of a connection, as it was when it connected.
package struct Peer: Sendable, Equatable {
  package var pid: Int32
  package var uid: UInt32
  /// The abstract name of its socket (unix(7)), without the leading zero byte; empty if it has
  /// none.
  package var abstractName: [UInt8]
  package var process: PeerProcess

  package init(
    pid: Int32, uid: UInt32, abstractName: [UInt8] = [], process: PeerProcess = .gone
  ) {
    self.pid = pid
    self.uid = uid
    self.abstractName = abstractName
    self.process = process
  }

  /// Returns whether the peer has this process's uid; root is a different user.
  package static func isOwner(_ peer: Peer) -> Bool { peer.uid == geteuid() }

  /// Asks the kernel for the peer of a socket (unix(7), SO_PEERCRED).
  ///
  /// The option does not fail on sockets of other families, so the family is checked first.
  init(connectedTo descriptor: CInt) throws {
    var family: CInt = 0
    try unsafe read(&family, from: descriptor, option: SO_DOMAIN)
    guard family == AF_UNIX else { throw IOError(errnoCode: EAFNOSUPPORT, reason: "SO_DOMAIN") }
    // struct ucred: pid, uid and gid, 32 bits each. Glibc declares it for GNU programs only.
    var credentials: (UInt32, UInt32, UInt32) = (0, 0, 0)
    try unsafe read(&credentials, from: descriptor, option: SO_PEERCRED)
    let pid = Int32(bitPattern: credentials.0)
    self.init(
      pid: pid, uid: credentials.1, abstractName: try abstractPeerName(of: descriptor),
      process: PeerProcess(pid, connectedTo: descriptor))
  }
}

private func abstractPeerName(of descriptor: CInt) throws -> [UInt8] {
  var address = sockaddr_un()
  var size = socklen_t(MemoryLayout<sockaddr_un>.size)
  let result = unsafe withUnsafeMutablePointer(to: &address) { address in
    unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      unsafe getpeername(descriptor, address, &size)
    }
  }
  guard result == 0 else { throw IOError(errnoCode: errno, reason: "getpeername") }
  return unsafe withUnsafeBytes(of: &address.sun_path) { path in
    let path = unsafe path.prefix(max(Int(size) - MemoryLayout<sa_family_t>.size, 0))
    return unsafe path.first == 0 ? Array(path.dropFirst()) : []
  }
}

private func read<Value: BitwiseCopyable>(
  _ value: UnsafeMutablePointer<Value>, from descriptor: CInt, option: CInt
) throws {
  var size = socklen_t(MemoryLayout<Value>.size)
  guard unsafe getsockopt(descriptor, SOL_SOCKET, option, value, &size) == 0 else {
    throw IOError(errnoCode: errno, reason: "getsockopt")
  }
}
