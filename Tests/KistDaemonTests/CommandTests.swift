import Foundation
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `kistd with a command` {
  /// Arguments for a store in a directory, up to the command.
  private func arguments(_ directory: String, _ script: String) -> [String] {
    ["--data", directory + "/data", "--key-file", directory + "/key", "--log-level", "trace"]
      + ["--", "sh", "-c", script]
  }

  @Test(arguments: [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 128 + 15)])
  func `it ends with the command's status`(script: String, status: Int) async throws {
    try await withDirectory { directory in
      let arguments = arguments(directory, script)
      await #expect(processExitsWith: .exitCode(CInt(status))) {
        [arguments = arguments as [String], directory = directory as String] in
        await runKistd(arguments, home: directory)
      }
    }
  }

  @Test func `it ends with the command's status where SIGCHLD was ignored`() async throws {
    try await withDirectory { directory in
      let arguments = arguments(directory, "exit 7")
      await #expect(processExitsWith: .exitCode(7)) {
        [arguments = arguments as [String], directory = directory as String] in
        signal(SIGCHLD, SIG_IGN)
        await runKistd(arguments, home: directory)
      }
    }
  }

  @Test func `a missing command is status 127`() async throws {
    try await withDirectory { directory in
      let arguments = Array(arguments(directory, "").dropLast(3)) + ["/no/such/command"]
      await #expect(processExitsWith: .exitCode(127)) {
        [arguments = arguments as [String], directory = directory as String] in
        await runKistd(arguments, home: directory)
      }
    }
  }

  @Test func `an empty command is status 64, and nothing is served`() async throws {
    try await withDirectory { directory in
      let arguments = Array(arguments(directory, "").dropLast(3))
      await #expect(processExitsWith: .exitCode(64)) {
        [arguments = arguments as [String], directory = directory as String] in
        await runKistd(arguments, home: directory)
      }
      #expect(mode(of: directory + "/data") == nil)
    }
  }

  @Test func `the command has a socket of its own, which is gone afterwards`() async throws {
    try await withDirectory { directory in
      let script = """
        printf %s "$KIST_SOCKET" >\(directory)/path
        stat -c %a "$KIST_SOCKET" "$(dirname "$KIST_SOCKET")" >\(directory)/modes
        """
      let arguments = arguments(directory, script)
      await #expect(processExitsWith: .exitCode(0)) {
        [arguments = arguments as [String], directory = directory as String] in
        await runKistd(arguments, home: directory)
      }
      #expect(try text(of: directory + "/modes") == "600\n700\n")
      let path = try text(of: directory + "/path")
      #expect(mode(of: URL(fileURLWithPath: path).deletingLastPathComponent().path) == nil)
    }
  }

  @Test func `the first start names the new store and its key, and every start is one line`()
    async throws
  {
    try await withDirectory { directory in
      let arguments = [
        "--data", directory + "/data", "--key-file", directory + "/key", "--log-level", "info",
        "--", "true",
      ]
      var logs: [[Substring]] = []
      for _ in 1...2 {
        let result = await #expect(
          processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
        ) { [arguments = arguments as [String], directory = directory as String] in
          await runKistd(arguments, home: directory)
        }
        let log = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        logs.append(log.split(separator: "\n"))
      }
      try #require(logs.map(\.count) == [2, 1])
      #expect(logs[0][0].hasPrefix("kistd: warning: made a new store"))
      #expect(logs[0][0].contains(directory + "/data/credentials.db"))
      #expect(logs[0][0].contains("keep a copy of the key"))
      #expect(logs[0][0].contains(directory + "/key"))
      for log in logs { #expect(log.last?.hasPrefix("kistd: info: serving") == true) }
    }
  }

  @Test func `no log line holds what was sent`() async throws {
    try await withDirectory { directory in
      let script = """
        printf '%s\\n' '{"op":"save","service":"hunter-service","secret":"hunter2"}' \
          '{"op":"load","service":"hunter-service"}' '{"op":"hunter-op"}' 'hunter, no JSON' \
          '{"op":"load","service":"hunter-missing"}' '{"op":"save","hunter-key":1}' >\(directory)/in
        printf 'hunter-unfinished' >>\(directory)/in
        socat -t 10 - UNIX:"$KIST_SOCKET" <\(directory)/in >\(directory)/out
        """
      let arguments = arguments(directory, script)
      let result = await #expect(
        processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
      ) { [arguments = arguments as [String], directory = directory as String] in
        await runKistd(arguments, home: directory)
      }
      let replies = try text(of: directory + "/out")
      #expect(replies.split(separator: "\n").count == 7)
      #expect(replies.contains("hunter2"))
      let log = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      #expect(log.contains("serving"))
      #expect(log.contains("encrypted file"))
      #expect(!log.contains("hunter"))
    }
  }

  @Test func `the command inherits no descriptor and gets its umask back`() async throws {
    try await withDirectory { directory in
      let script = "ls /proc/self/fd >\(directory)/fds; umask >\(directory)/umask"
      let arguments = arguments(directory, script)
      await #expect(processExitsWith: .exitCode(0)) {
        [arguments = arguments as [String], directory = directory as String] in
        umask(0o027)
        // What the test runner left open is not what this is about.
        for descriptor in 3..<CInt(65_536) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        await runKistd(arguments, home: directory)
      }
      // The fourth is the directory that `ls` reads.
      let descriptors = try text(of: directory + "/fds")
      #expect(descriptors == "0\n1\n2\n3\n")
      let mask = try text(of: directory + "/umask")
      #expect(mask == "0027\n")
    }
  }

  @Test func `kistd keeps no socket of a command that it has started`() async {
    await #expect(processExitsWith: .success) {
      let previous = try Hardening.apply()
      let before = try openSockets()
      let command = try ChildProcess(
        waitingFor: ["true"], socket: "/nonexistent", previous: previous)
      #expect(try openSockets().count == before.count + 1)
      #expect(try command.start())
      #expect(try openSockets() == before)
    }
  }

  @Test func `a signal to kistd is for the command`() async throws {
    try await withDirectory { directory in
      let script = """
        trap 'echo heard >\(directory)/heard; exit 9' TERM
        kill -TERM $PPID
        while :; do sleep 0.1; done
        """
      let arguments = arguments(directory, script)
      await #expect(processExitsWith: .exitCode(9)) {
        [arguments = arguments as [String], directory = directory as String] in
        await runKistd(arguments, home: directory)
      }
      let heard = try text(of: directory + "/heard")
      #expect(heard == "heard\n")
    }
  }

  @Test func `a passphrase from a descriptor opens the store again, and another one does not`()
    async throws
  {
    try await withDirectory { directory in
      try Data("open sesame\n".utf8).write(to: URL(fileURLWithPath: directory + "/right"))
      try Data("open barley\n".utf8).write(to: URL(fileURLWithPath: directory + "/wrong"))
      for (file, status) in [("right", 0), ("right", 0), ("wrong", 11)] {
        await #expect(processExitsWith: .exitCode(CInt(status))) {
          [directory = directory as String, file = file as String] in
          let descriptor = unsafe open(directory + "/" + file, O_RDONLY)
          await runKistd(
            ["--data", directory + "/data", "--passphrase-fd", "\(descriptor)", "--", "true"],
            home: directory)
        }
      }
    }
  }
}

/// The sockets that this process has open.
private func openSockets() throws -> Set<String> {
  let manager = FileManager.default
  let links = try manager.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
    // One that is closed meanwhile has no link.
    try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
  }
  return Set(links.filter { $0.hasPrefix("socket:") })
}
