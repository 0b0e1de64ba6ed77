#if Libsecret
  import KistClient
  import KistKeyrings
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .timeLimit(.minutes(10)))
  struct `Killing the daemon between any two of its calls on the bus` {
    @Test(arguments: InterruptedChange.allCases)
    func `leaves the old or the new credential, and the next save cleans up`(
      change: InterruptedChange
    ) async throws {
      try await withKeyring { home, bus, _ in
        let faults = try await change.faults(on: bus, by: access(by: home))
        #expect(faults == [])
      }
    }

    @Test func `does so when the keyring is restarted after it`() async throws {
      try await withKeyring { home, bus, keyring in
        let faults = try await InterruptedChange.replace.faults(
          on: bus, by: access(by: home)
        ) { try await keyring.restart() }
        #expect(faults == [])
      }
    }

    /// A daemon of its own for each piece of work; it is connected to the keyring when that begins.
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
