internal import Glibc
package import KistCore
internal import KistSystem
package import KistWire
internal import NIOCore

/// The process at the other end of a connection.
///
/// The pid, the uid and the abstract name are from the time when it connected.
package struct Peer: Sendable, Equatable {
  package var pid: Int32
  package var uid: UInt32
  /// The abstract name of its socket (unix(7)) without the leading zero byte; may be empty.
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

  /// Returns whether the peer has this process's uid.
  ///
  /// Root is another user, except for a kistd of root.
  package static func isOwnUser(_ peer: Peer) -> Bool { peer.uid == geteuid() }

  /// Asks the kernel for the peer of a socket (unix(7), SO_PEERCRED).
  ///
  /// First checks that the socket is a Unix socket, because the call also succeeds for other
  /// sockets.
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
  try unsafe withUnsafeMutablePointer(to: &address) { address in
    try unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      _ = try checked("getpeername", unsafe getpeername(descriptor, address, &size))
    }
  }
  return unsafe withUnsafeBytes(of: &address.sun_path) { path in
    let path = unsafe path.prefix(max(Int(size) - MemoryLayout<sa_family_t>.size, 0))
    return unsafe path.first == 0 ? Array(path.dropFirst()) : []
  }
}

private func read<Value: BitwiseCopyable>(
  _ value: UnsafeMutablePointer<Value>, from descriptor: CInt, option: CInt
) throws {
  var size = socklen_t(MemoryLayout<Value>.size)
  try checked("getsockopt", unsafe getsockopt(descriptor, SOL_SOCKET, option, value, &size))
}

/// Facts about the process at the other end, from the time when the server accepted the connection.
package struct PeerProcess: Sendable, Equatable {
  /// The text of /proc/PID/cgroup (cgroups(7)); empty if the process had ended.
  package var cgroup: String
  /// The text of /proc/PID/comm, which every process can set for itself; empty if the process had
  /// ended.
  package var name: String
  /// Whether the process was found, and if so, whether kistd checked that it still had this pid.
  package var evidence: AuditedPeer.Evidence

  package init(cgroup: String, name: String, evidence: AuditedPeer.Evidence) {
    self.cgroup = cgroup
    self.name = name
    self.evidence = evidence
  }

  /// A process that had ended.
  package static let gone = PeerProcess(cgroup: "", name: "", evidence: .gone)

  /// Reads the facts in /proc about the process with this pid that is connected to a socket.
  ///
  /// If the process has ended, another process may have its pid. So this function first asks for a
  /// descriptor of the process (unix(7), SO_PEERPIDFD). After it has read the facts, it discards
  /// them if the process no longer has the pid. This needs Linux 6.5 or later. On an older kernel,
  /// the facts may be about another process.
  init(_ pid: pid_t, connectedTo descriptor: CInt) {
    var process: CInt = -1
    var size = socklen_t(MemoryLayout<CInt>.size)
    // SO_PEERPIDFD, which the headers of older systems do not have.
    guard unsafe getsockopt(descriptor, SOL_SOCKET, 77, &process, &size) == 0 else {
      self = errno == ENOPROTOOPT ? Self(pid, evidence: .pid) : .gone
      return
    }
    defer { close(process) }
    let found = Self(pid, evidence: .pidfd)
    self = hasItsPid(process) ? found : .gone
  }

  private init(_ pid: pid_t, evidence: AuditedPeer.Evidence) {
    self = .gone
    guard let cgroup = text(ofProcFile: "/proc/\(pid)/cgroup"),
      let name = text(ofProcFile: "/proc/\(pid)/comm")
    else { return }
    self.init(
      cgroup: cgroup, name: name.hasSuffix("\n") ? String(name.dropLast()) : name,
      evidence: evidence)
  }
}

/// Returns whether a process still has its pid.
///
/// A process keeps its pid until it has ended and its parent has waited for it.
private func hasItsPid(_ process: CInt) -> Bool {
  var end = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
  if unsafe poll(&end, 1, 0) == 0 { return true }
  let lines = (text(ofProcFile: "/proc/self/fdinfo/\(process)") ?? "").split(separator: "\n")
  let pid = lines.first { $0.hasPrefix("Pid:\t") }?.dropFirst("Pid:\t".count)
  return pid.flatMap { Int($0) }.map { $0 > 0 } ?? false
}

/// Makes a listening Unix socket at an unused path, with mode 0600.
///
/// Started programs do not inherit it.
package func listen(at path: String) throws(StorageError) -> CInt {
  do {
    let address = try SocketAddress(unixDomainSocketPath: path)
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = try checked("socket", socket(AF_UNIX, CInt(kind), 0))
    do {
      // bind() gives the file the mode of the socket minus the umask. So other users cannot
      // connect.
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
