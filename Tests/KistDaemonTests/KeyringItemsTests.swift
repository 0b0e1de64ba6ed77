#if Libsecret
  import Foundation
  import Testing

  @testable import KistDaemon

  /// There is no session bus: what is not refused, with status 6, ends with 7.
  @Suite(.timeLimit(.minutes(10))) struct `The output of kistd keyring-items` {
    @Test(arguments: [(0o644, 6), (0o640, 6), (0o604, 6), (0o620, 6), (0o600, 7), (0o200, 7)])
    func `may be a file that no other user may read; any other file is not changed`(
      permissions: mode_t, status: CInt
    ) async throws {
      try await withDirectory { home in
        await #expect(processExitsWith: .exitCode(status)) {
          [home = home as String, permissions = permissions as mode_t] in
          umask(0)
          dup2(unsafe open(home + "/items", O_WRONLY | O_CREAT, permissions), STDOUT_FILENO)
          await runKistd(["keyring-items"], home: home)
        }
        #expect(mode(of: home + "/items") == permissions)
        #expect(FileManager.default.contents(atPath: home + "/items")?.isEmpty != false)
      }
    }

    @Test(arguments: [(0o644, 6), (0o600, 7)])
    func `may be a named pipe that no other user may read`(
      permissions: mode_t, status: CInt
    ) async throws {
      try await withDirectory { home in
        await #expect(processExitsWith: .exitCode(status)) {
          [home = home as String, permissions = permissions as mode_t] in
          umask(0)
          unsafe mkfifo(home + "/items", permissions)
          dup2(unsafe open(home + "/items", O_RDWR), STDOUT_FILENO)
          await runKistd(["keyring-items"], home: home)
        }
      }
    }

    @Test func `may be a pipe or a socket`() async throws {
      try await withDirectory { home in
        await #expect(processExitsWith: .exitCode(7)) { [home = home as String] in
          var ends: [CInt] = [-1, -1]
          guard unsafe pipe(&ends) == 0 else { exit(1) }
          dup2(ends[1], STDOUT_FILENO)
          await runKistd(["keyring-items"], home: home)
        }
        await #expect(processExitsWith: .exitCode(7)) { [home = home as String] in
          var ends: [CInt] = [-1, -1]
          let type = CInt(SOCK_STREAM.rawValue)
          guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { exit(1) }
          dup2(ends[1], STDOUT_FILENO)
          await runKistd(["keyring-items"], home: home)
        }
      }
    }

    @Test func `may not be a device; the refusal has a hint`() async throws {
      try await withDirectory { home in
        let end = await #expect(
          processExitsWith: .exitCode(6), observing: [\.standardErrorContent]
        ) { [home = home as String] in
          dup2(unsafe open("/dev/null", O_WRONLY), STDOUT_FILENO)
          await runKistd(["keyring-items"], home: home)
        }
        let error = String(decoding: try #require(end).standardErrorContent, as: UTF8.self)
        #expect(error.contains("hint: `kist import keyring` reads them"), "\(error)")
      }
    }
  }
#endif
