#if Libsecret
  import Foundation
  import KistClient
  import KistKeyrings
  import KistTesting
  import Subprocess
  import Testing

  /// Runs a script in a desktop session with its own bus and an unlocked gnome-keyring.
  private func login(_ script: String, in home: Home) async throws -> CommandResult {
    let unlock = "printf pw | gnome-keyring-daemon --unlock --components=secrets > keyring.log 2>&1"
    return try await command(
      "sh", ["-c", #"cd; exec dbus-run-session -- sh -c "$0""#, "\(unlock)\n\(script)"], in: home)
  }

  @Suite(.needsKeyring, .timeLimit(.minutes(3)))
  struct `The end of the session bus` {
    @Test(arguments: [
      "true", "kist lock",
      // A client that stays connected.
      """
      python3 -c 'import os, socket
      client = socket.socket(socket.AF_UNIX)
      client.connect(os.environ["XDG_RUNTIME_DIR"] + "/kist/kist.sock")
      open("connected", "w").close()
      client.recv(1)' > client.log 2>&1 & until [ -e connected ]; do :; done
      """,
      """
      kist watch > watch.log 2>&1 & echo $! > watch
      until [ -s watch.log ]; do echo x | kist save begin; done
      """,
    ])
    func `ends a kistd that kist started, so that the first kist of a new login finds the keyring`(
      before: String
    ) async throws {
      try await withAutostart { home in
        let first = try await login(
          "echo $DBUS_SESSION_BUS_ADDRESS; printf pw | kist save s\n\(before)", in: home)
        try #require(first.status == .exited(0), "\(first.error)")
        try await untilEnded(try #require(home.daemon))
        let second = try await login(
          """
          echo $DBUS_SESSION_BUS_ADDRESS
          for i in 1 2 3 4 5; do kist load s; done; kist status | head -1
          [ ! -e watch ] || kill $(cat watch) 2> watch.log || :
          """, in: home)
        #expect(second.output.hasSuffix("\npwpwpwpwpwstorage: libsecret\n"), "\(second.error)")
        #expect(
          first.output.split(separator: "\n").first != second.output.split(separator: "\n").first)
        let log = try String(contentsOfFile: home.daemonLog, encoding: .utf8)
        #expect(log.contains("stopping, because the session bus ended"), "\(log)")
      }
    }

    @Test func `does not end a kistd that serves the encrypted file`() async throws {
      try await withAutostart { home in
        let saved = try await login(
          "printf pw | KISTD_STORAGE=encrypted-file kist save s", in: home)
        try #require(saved.status == .exited(0), "\(saved.error)")
        let daemon = try #require(home.daemon)
        let loaded = try await login("kist load s", in: home)
        #expect(loaded.output == "pw", "\(loaded.error)")
        #expect(home.daemon == daemon)
      }
    }

    @Test func `does not end a kistd in the foreground, which finds a new bus at the same address`()
      async throws
    {
      try await withKeyring(mayEnd: true) { home, bus, keyring in
        let end = try await withDaemon(in: home, ["--storage", "libsecret"]) { daemon in
          let storage = daemon.connect()
          try await storage.save(.sample())
          await bus.kill()
          let error = await #expect(throws: StorageError.self) { try await storage.load(.sample) }
          #expect(error?.code == .unavailable)
          try await bus.restart()
          try await keyring.restart()
          #expect(try await storage.load(.sample).secret == NewCredential.sample().secret)
        }
        #expect(end.status == .exited(0))
      }
    }

    @Test func `does not end a kistd under its command`() async throws {
      try await withKeyring(mayEnd: true) { home, bus, _ in
        let script = "kist list && echo > begun; until [ -e go ]; do :; done; kist list; echo $?"
        async let ending = command(
          "sh", ["-c", "cd; exec kistd --storage libsecret -- sh -c \"$0\"", script], in: home)
        try await poll("the command began") { home.has("begun") }
        await bus.kill()
        try Data().write(to: URL(filePath: home.path + "/go"))
        let end = try await ending
        #expect(end.status == .exited(0))
        #expect(end.output == "7\n")
        #expect(end.error.contains("session bus"), "\(end.error)")
      }
    }

    @Test func `ends a kistd that kist started only after the commands of others that use it`()
      async throws
    {
      try await withKeyring(mayEnd: true, startsKistd: true) { home, bus, _ in
        let saved = try await command("kist", ["save", "s"], in: home, input: "pw")
        try #require(saved.status == .exited(0), "\(saved.error)")
        let daemon = try #require(home.daemon)
        let script = "echo > begun; until [ -e go ]; do :; done; kist list; echo $?"
        async let ending = command(
          "sh", ["-c", "cd; exec kistd -- sh -c \"$0\"", script], in: home)
        try await poll("the command began") { home.has("begun") }
        await bus.kill()
        try Data().write(to: URL(filePath: home.path + "/go"))
        let end = try await ending
        #expect(end.output == "7\n")
        #expect(end.error.contains("session bus"), "\(end.error)")
        try await untilEnded(daemon)
      }
    }

    @Test(
      .needs(
        "the Debian package systemd, for its systemd-socket-activate",
        FileManager.default.fileExists(atPath: "/usr/bin/systemd-socket-activate")))
    func `ends a kistd that has its socket from systemd`() async throws {
      try await withKeyring(mayEnd: true) { home, bus, _ in
        let script = """
          umask 77; mkdir $XDG_RUNTIME_DIR/kist
          exec systemd-socket-activate --listen=\(home.socket) --setenv=XDG_RUNTIME_DIR \
            --setenv=DBUS_SESSION_BUS_ADDRESS $(command -v kistd)
          """
        async let ending = command("sh", ["-c", script], in: home)
        try await poll("the socket exists") { FileManager.default.fileExists(atPath: home.socket) }
        let saved = try await command("kist", ["save", "s"], in: home, input: "pw")
        #expect(saved.status == .exited(0), "\(saved.error)")
        await bus.kill()
        let end = try await ending
        #expect(end.status == .exited(0))
        #expect(end.error.contains("stopping, because the session bus ended"), "\(end.error)")
      }
    }
  }

  extension Home {
    fileprivate func has(_ name: String) -> Bool {
      FileManager.default.fileExists(atPath: path + "/" + name)
    }
  }
#endif
