internal import Glibc
internal import KistSystem
package import KistWire

/// What the process at the other end was when it connected.
package struct PeerProcess: Sendable, Equatable {
  /// The text of /proc/PID/cgroup (cgroups(7)); empty where it had ended.
  package var cgroup: String
  /// The text of /proc/PID/comm, a name that every process can give itself; empty where it had ended.
  package var name: String
  package var evidence: AuditedPeer.Evidence

  package init(cgroup: String, name: String, evidence: AuditedPeer.Evidence) {
    self.cgroup = cgroup
    self.name = name
    self.evidence = evidence
  }

  /// One that had ended.
  package static let gone = PeerProcess(cgroup: "", name: "", evidence: .gone)
}

extension PeerProcess {
  /// Looks at the process of this pid that is connected to a socket.
  ///
  /// What /proc tells of a pid is told of the process only if that has the pid still afterwards, for
  /// which a descriptor of the process stands (unix(7), SO_PEERPIDFD, from Linux 6.5 on). Where the
  /// kernel has none, another process may have had the pid by then.
  init(_ pid: pid_t, connectedTo descriptor: CInt) {
    var process: CInt = -1
    var size = socklen_t(MemoryLayout<CInt>.size)
    guard unsafe getsockopt(descriptor, SOL_SOCKET, peerPidfd, &process, &size) == 0 else {
      let isOldKernel = errno == ENOPROTOOPT
      self = isOldKernel ? Self(pid, evidence: .pid) : .gone
      return
    }
    defer { close(process) }
    let found = Self(pid, evidence: .pidfd)
    self = hasItsPid(process) ? found : .gone
  }

  private init(_ pid: pid_t, evidence: AuditedPeer.Evidence) {
    guard let cgroup = text(ofProcFile: "/proc/\(pid)/cgroup"),
      let name = text(ofProcFile: "/proc/\(pid)/comm")
    else {
      self = .gone
      return
    }
    self.init(
      cgroup: cgroup, name: name.hasSuffix("\n") ? String(name.dropLast()) : name,
      evidence: evidence)
  }
}

/// SO_PEERPIDFD, which the headers of older systems do not have.
private let peerPidfd: CInt = 77

/// Whether nobody else can have the pid of a process: it has not ended, or was not waited for.
private func hasItsPid(_ process: CInt) -> Bool {
  var end = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
  if unsafe poll(&end, 1, 0) == 0 { return true }
  let lines = (text(ofProcFile: "/proc/self/fdinfo/\(process)") ?? "").split(separator: "\n")
  let pid = lines.first { $0.hasPrefix("Pid:\t") }?.dropFirst("Pid:\t".count)
  return pid.flatMap { Int($0) }.map { $0 > 0 } ?? false
}
