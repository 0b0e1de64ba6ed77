#if Libsecret
  import KistClient
  import KistKeyrings
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .timeLimit(.minutes(10)))
  struct `SIGKILL to kistd between two D-Bus calls` {
    @Test(arguments: InterruptedChange.allCases)
    func `leaves the old or the new credential, and the next save cleans up`(
      change: InterruptedChange
    ) async throws {
      try await withKeyring { home, bus, _ in
        let faults = try await change.faults(on: bus, by: access(by: home))
        #expect(faults == [])
      }
    }

    @Test func `leaves the old or the new credential if the keyring restarts afterwards`()
      async throws
    {
      try await withKeyring { home, bus, keyring in
        let faults = try await InterruptedChange.replace.faults(
          on: bus, by: access(by: home)
        ) { try await keyring.restart() }
        #expect(faults == [])
      }
    }

    /// Starts a kistd for each piece of work, which begins once kistd is connected to the keyring.
    private func access(by home: Home) -> KeyringAccess {
      KeyringAccess { address, body in
        var home = home
        home.busAddress = address
        try await withDaemon(in: home, ["--storage", "libsecret"]) { daemon in
          let storage = daemon.connect()
          _ = try await storage.findAll()
          try await body(storage) { daemon.send(.kill) }
        }
      }
    }
  }
#endif
