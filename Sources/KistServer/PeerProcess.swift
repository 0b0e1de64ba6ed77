internal import Glibc
internal import KistSystem
package import KistWire

/// Facts about the process at the other end, from the time when it connected.
package struct PeerProcess: Sendable, Equatable {
  /// The text of /proc/PID/cgroup (cgroups(7)); empty if the process had ended.
  package var cgroup: String
  /// The text of /proc/PID/comm, which every process can set itself; empty if it had ended.
  package var name: String
  package var evidence: AuditedPeer.Evidence

  package init(cgroup: String, name: String, evidence: AuditedPeer.Evidence) {
    self.cgroup = cgroup
    self.name = name
    self.evidence = evidence
  }

  /// A process that had ended.
  package static let gone = PeerProcess(cgroup: "", name: "", evidence: .gone)
}

extension PeerProcess {
  /// Reads the facts about the process with this pid that is connected to a socket.
  ///
  /// The facts in /proc count only if the process still has its pid afterwards. A descriptor of the
  /// process proves that (unix(7), SO_PEERPIDFD, Linux 6.5 and later). On an older kernel, another
  /// process may already have had the pid.
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

/// Returns whether a process still has its pid: it is running, or was not waited for yet.
private func hasItsPid(_ process: CInt) -> Bool {
  var end = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
  if unsafe poll(&end, 1, 0) == 0 { return true }
  let lines = (text(ofProcFile: "/proc/self/fdinfo/\(process)") ?? "").split(separator: "\n")
  let pid = lines.first { $0.hasPrefix("Pid:\t") }?.dropFirst("Pid:\t".count)
  return pid.flatMap { Int($0) }.map { $0 > 0 } ?? false
}
