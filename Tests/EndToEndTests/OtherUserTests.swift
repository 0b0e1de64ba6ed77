import Foundation
import KistTesting
import Subprocess
import Testing

@Suite(.needsRoot("to become other users"), .timeLimit(.minutes(5)))
struct `Access across users and namespaces` {
  @Test(arguments: [
    ("root", "0"), ("other", "61235"), ("nobody", "65534"), ("other-as-root", "61235"),
    ("other-as-user", "61235"), ("other-unmapped", "61235"), ("root-as-user", "0"),
    ("subordinate", "165537"), ("subordinate-as-user", "165537"),
  ])
  func `kistd refuses other users, even from their own user namespaces`(
    visitor: String, uid: String
  ) async throws {
    let log = try await withDaemon(asUser: []) { socket in
      let answer = try await visit(by: visitor, to: socket)
      #expect(answer.contains("\"denied\""))
      #expect(!answer.contains("\"ok\":true"))
    }.log
    #expect(log.contains("refused a connection of another user"))
    #expect(log.contains("uid=\(uid) "))
  }

  @Test(arguments: ["user", "user-as-root", "user-as-other", "user-unmapped"])
  func `kistd admits its own user, even from other user namespaces`(visitor: String) async throws {
    try await withDaemon(asUser: []) { socket in
      let answer = try await visit(by: visitor, to: socket)
      #expect(answer.contains("\"ok\":true"))
    }
  }

  @Test(arguments: ["root", "other", "nobody", "other-as-user", "subordinate"])
  func `kistd in a user namespace refuses users that it sees as nobody`(visitor: String)
    async throws
  {
    let log = try await withDaemon(asUser: ["unshare", "--user", "--map-user=61234"]) { socket in
      let answers = [
        try await visit(by: visitor, to: socket), try await visit(by: "user", to: socket),
      ]
      #expect(answers[0].contains("\"denied\""))
      #expect(answers[1].contains("\"ok\":true"))
    }.log
    #expect(log.contains("uid=65534 "))
  }

  @Test(arguments: [[], ["--map-user=65534"]])
  func `kistd refuses to start if it would see every user as its own`(map: [String]) async throws {
    let end = try await withDaemon(asUser: ["unshare", "--user"] + map) { _ in }
    #expect(end.status == .exited(6))
    #expect(end.log.contains("uid 65534 represents every unmapped user"))
  }

  @Test func `kist sends nothing if it cannot distinguish its own user from other users`()
    async throws
  {
    try await withHome { home in
      let end = try await command("kistd", ["--", "unshare", "--user", "kist", "list"], in: home)
      #expect(end.status == .exited(6))
      #expect(end.error.contains("uid 65534 represents every unmapped user"))
      #expect(!end.error.contains("another user's process listens"))
    }
  }

  /// Runs kistd as user 61234 with a socket whose file mode lets other users connect.
  @discardableResult
  private func withDaemon(
    asUser wrapper: [String], _ body: (_ socket: String) async throws -> Void
  ) async throws -> DaemonEnd {
    try await withHome { home in
      let program = home.path + "/kistd"
      // Another process copies the program. A child of this process that starts meanwhile would
      // keep the copy open for writing, and Linux does not run such a file.
      let copying = try await run(
        .name("install"), arguments: [programs + "/kistd", program], output: .discarded,
        error: .string(limit: 1 << 10))
      try #require(copying.terminationStatus == .exited(0), "\(copying.standardError)")
      for path in [home.path, home.runtime] {
        unsafe chown(path, 61234, 61234)
        unsafe chmod(path, 0o711)
      }
      let user = ["--reuid=61234", "--regid=61234", "--clear-groups"]
      let end = try await run(
        .name("setpriv"), arguments: .init(user + wrapper + [program]),
        environment: home.environment, input: .none, output: .discarded,
        error: .string(limit: 1 << 20)
      ) { execution in
        defer { try? execution.send(signal: .terminate) }
        try await whenListening(at: home.socket, execution.processIdentifier.value) {
          unsafe chmod(home.runtime + "/kist", 0o711)
          unsafe chmod(home.socket, 0o666)
          try await body(home.socket)
        }
      }
      return DaemonEnd(status: end.terminationStatus, log: end.standardError)
    }
  }

  /// Calls the body once a process listens on the socket, unless the process ends first.
  private func whenListening(
    at socket: String, _ process: pid_t, _ body: () async throws -> Void
  ) async throws {
    while true {
      // The flags, which mark a listening socket, and the path of each socket (proc_net(5)).
      let sockets = try wholeText(of: "/proc/net/unix")
      let isThere = sockets.split(separator: "\n").contains {
        $0.hasSuffix(" " + socket) && $0.contains(" 00010000 ")
      }
      if isThere { return try await body() }
      let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
      if state?.contains(") Z ") != false { return }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Connects as a visitor, sends a request, and returns the answer.
  private func visit(by visitor: String, to socket: String) async throws -> String {
    let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Torture/hostile/stranger.py").path
    let end = try await run(
      .name("python3"), arguments: [script, visitor, socket],
      environment: .custom(["PATH": "/usr/bin:/bin"]), output: .string(limit: 1 << 16),
      error: .string(limit: 1 << 16))
    #expect(end.terminationStatus == .exited(0), "\(end.standardError)")
    return end.standardOutput
  }
}
