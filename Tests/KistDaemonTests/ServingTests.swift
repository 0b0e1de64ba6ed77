import Foundation
import KistClient
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `kistd` {
  @Test func `a bad option is status 64, with an error and a hint like all others`() async throws {
    let result = await #expect(
      processExitsWith: .exitCode(64), observing: [\.standardErrorContent]
    ) { await runKistd(["true"], home: "/nonexistent") }
    let error = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(
      error == """
        kistd: unexpected argument
        hint: the commands of kistd are fsck, key-file, keyring-items, migrate, probe, rekey, \
        restore, vault; to run another program: `kistd -- COMMAND`

        """)
  }

  @Test(arguments: [["nonsense", "--help"], ["key-file", "nonsense", "--help"]])
  func `an unknown command with --help is an error`(arguments: [String]) async throws {
    let result = await #expect(
      processExitsWith: .exitCode(64), observing: [\.standardErrorContent]
    ) { [arguments] in await runKistd(arguments, home: "/nonexistent") }
    let error = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(error.contains("unexpected argument") || error.contains("action of a key file"))
  }

  @Test func `a second daemon is status 7 and names the first`() async throws {
    try await withDirectory { directory in
      let lock = try socketLock(beside: directory + "/s")
      let result = await #expect(
        processExitsWith: .exitCode(7), observing: [\.standardErrorContent]
      ) { [directory = directory as String] in
        await runKistd(
          ["--socket", directory + "/s", "--data", directory, "--key-file", directory],
          home: directory)
      }
      let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      #expect(message.contains("already running, pid \(getpid())"))
      withExtendedLifetime(lock) {}
    }
  }

  @Test func `a socket path of 200 bytes is refused, naming it`() async throws {
    let path = "/tmp/" + String(repeating: "x", count: 195)
    try await withDirectory { directory in
      let result = await #expect(
        processExitsWith: .exitCode(9), observing: [\.standardErrorContent]
      ) { [path = path as String, directory = directory as String] in
        await runKistd(["--socket", path], home: directory)
      }
      let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      #expect(message.contains(path))
      #expect(message.contains("107"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
    }
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `a signal is answered with a clean end and status 0`(_ signal: CInt) async throws {
    try await withDirectory { directory in
      let result = await #expect(
        processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
      ) { [directory = directory as String, signal = signal as CInt] in
        let path = directory + "/s"
        // A process that is confined can start no client.
        Task.detached {
          while !isListenedOn(path) { await Task.yield() }
          // The answer comes when the storage is open.
          let status = try? await StorageAccess.remote(socketPath: path).status()
          if status == nil { exit(1) }
          kill(getpid(), signal)
        }
        await runKistd(["--socket", path, "--log-level", "debug"], home: directory)
      }
      let log = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      #expect(log.contains("stopped"))
      #expect(mode(of: directory + "/s") == nil)
      #expect(try text(of: directory + "/s.lock").hasSuffix("\n"), "what it was locked by stays")
      // Closed cleanly: no write-ahead log is left.
      #expect(mode(of: directory + "/.local/share/kist/credentials.db") == 0o600)
      #expect(mode(of: directory + "/.local/share/kist/credentials.db-wal") == nil)
    }
  }

  @Test func `without XDG_RUNTIME_DIR the socket is in the next place`() async throws {
    try await withDirectory { directory in
      await #expect(processExitsWith: .exitCode(0)) { [directory = directory as String] in
        let runtime = "/run/user/\(getuid())"
        let path =
          (isOurDirectory(runtime) ? runtime : directory + "/.local/state")
          + "/kist/kist.sock"
        Thread.detachNewThread {
          while !isListenedOn(path) { sched_yield() }
          kill(getpid(), SIGTERM)
        }
        await runKistd([], home: directory)
      }
    }
  }
}
