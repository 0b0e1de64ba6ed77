#if Libsecret
  import KistClient
  import KistKeyrings
  import Subprocess
  import Testing

  @Suite(.needsKeyring)
  struct `Killing the daemon between any two of its calls on the bus` {
    @Test(arguments: InterruptedChange.allCases)
    func `leaves the old or the new credential, and the next save cleans up`(
      change: InterruptedChange
    ) async throws {
      try await withKeyring { home, bus, _ in try await check(change, in: home, on: bus) }
    }

    @Test func `does so when the keyring is restarted after it`() async throws {
      try await withKeyring { home, bus, keyring in
        try await check(.replace, in: home, on: bus) { try await keyring.restart() }
      }
    }

    /// Kills the daemon before and after each call of a change, among items of others.
    private func check(
      _ change: InterruptedChange, in home: Home, on bus: PrivateBus,
      interlude: () async throws -> Void = {}
    ) async throws {
      let access = access(by: home)
      let neighbours = try await Neighbours(on: bus)
      let whole = try await Interruption(of: change, at: nil, on: bus, by: access)
      #expect(whole.faults == [])
      #expect(whole.calls.contains(change.member))
      for call in 1...whole.calls.count {
        for moment in [BusProxy.Moment.before(call: call), .after(call: call)] {
          let interruption = try await Interruption(
            of: change, at: moment, on: bus, by: access, interlude: interlude)
          #expect(interruption.faults == [])
        }
      }
      #expect(try await neighbours.areUntouched())
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
