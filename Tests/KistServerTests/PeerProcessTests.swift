import Foundation
import KistWire
import Subprocess
import Testing

@testable import KistServer

/// Whether the kernel gives a descriptor of the process at the other end (Linux 6.5).
private let kernelHoldsPeers: Bool = {
  var ends: [CInt] = [0, 0]
  unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
  defer { for end in ends { close(end) } }
  return PeerProcess(getpid(), connectedTo: ends[0]).evidence == .pidfd
}()

@Suite(.timeLimit(.minutes(2))) struct `The process at the other end` {
  private let own = try! String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)

  /// A client that connects, sends nothing, and ends.
  private func accepting(
    _ body: (_ path: String, _ accept: () -> CInt) async throws -> Void
  ) async throws {
    try await withDirectory { directory in
      let path = directory + "/s"
      let listener = try listen(at: path)
      defer { close(listener) }
      try await body(path) { Foundation.accept(listener, nil, nil) }
    }
  }

  @Test func `is examined while it runs`() async throws {
    var ends: [CInt] = [0, 0]
    try #require(unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    let process = PeerProcess(getpid(), connectedTo: ends[0])
    #expect(process.cgroup == own)
    #expect(
      process.name == (try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)).trimmed)
    #expect(process.evidence == (kernelHoldsPeers ? .pidfd : .pid))
  }

  @Test func `has no descriptor left behind`() async {
    await #expect(processExitsWith: .success) {
      var ends: [CInt] = [0, 0]
      unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
      let before = dup(0)
      close(before)
      for _ in 0..<100 { _ = PeerProcess(getpid(), connectedTo: ends[0]) }
      // Another thread of the process may have opened a few meanwhile.
      exit(dup(0) < before + 50 ? 0 : 1)
    }
  }

  @Test func `that has ended is gone, and no other process with its pid is mistaken for it`()
    async throws
  {
    try await accepting { path, accept in
      let end = try await run(
        .name("socat"), arguments: ["-u", "/dev/null", "UNIX-CONNECT:\(path)"],
        output: .discarded)
      try #require(end.terminationStatus == .exited(0))
      let connection = accept()
      defer { close(connection) }
      #expect(try Peer(connectedTo: connection).process == .gone)
      // As if this process had got the pid of that one.
      if kernelHoldsPeers { #expect(PeerProcess(getpid(), connectedTo: connection) == .gone) }
    }
  }

  @Test func `that has ended, and still has its pid, is known`() async throws {
    try await accepting { path, accept in
      var pid: pid_t = 0
      let words = ["socat", "-u", "/dev/null", "UNIX-CONNECT:\(path)"]
      var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
      defer { unsafe arguments.forEach { unsafe free($0) } }
      try #require(unsafe posix_spawnp(&pid, "socat", nil, nil, &arguments, environ) == 0)
      var end = unsafe siginfo_t()
      unsafe waitid(P_PID, id_t(pid), &end, WEXITED | WNOWAIT)
      defer { waitpid(pid, nil, 0) }
      let connection = accept()
      defer { close(connection) }
      let process = try Peer(connectedTo: connection).process
      #expect(process.name == "socat")
      // Only the hierarchy that units are in keeps one that has ended.
      #expect(process.cgroup.split(separator: "\n").last == own.split(separator: "\n").last)
    }
  }
}

extension String {
  fileprivate var trimmed: String { trimmingCharacters(in: .newlines) }
}
