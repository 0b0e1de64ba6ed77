#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import Testing

  @Suite(.requires(.dbusDaemon, .gdbus, .gnomeKeyring, .secretTool))
  struct `A crash between any two calls on the bus` {
    @Test(arguments: InterruptedChange.allCases)
    func `leaves the old or the new credential, and the next save cleans up`(
      change: InterruptedChange
    ) async throws {
      try await withPrivateBus { bus in
        _ = try await GnomeKeyring(.password("pw"), on: bus)
        try await check(change, on: bus)
      }
    }

    @Test(arguments: [GnomeKeyring.Start.password("pw"), .blankPassword])
    func `does so when the keyring is restarted after it`(
      start: GnomeKeyring.Start
    ) async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(start, on: bus)
        try await check(.replaceWhatWasLeft, on: bus) { try await keyring.restart() }
      }
    }

    /// Cuts a change off before and after each of its calls, among items of others.
    private func check(
      _ change: InterruptedChange, on bus: PrivateBus, interlude: () async throws -> Void = {}
    ) async throws {
      let neighbours = try await Neighbours(on: bus)
      let whole = try await Interruption(of: change, at: nil, on: bus, by: inThisProcess)
      #expect(whole.faults == [])
      #expect(whole.calls.contains(change.member))
      for call in 1...whole.calls.count {
        for moment in [BusProxy.Moment.before(call: call), .after(call: call)] {
          let interruption = try await Interruption(
            of: change, at: moment, on: bus, by: inThisProcess, interlude: interlude)
          #expect(interruption.faults == [])
        }
      }
      #expect(try await neighbours.areUntouched())
    }
  }

  private let inThisProcess = KeyringAccess { address, body in
    let storage = Libsecret.open(.init(busAddress: address))
    try await body(storage.credentials) {}
    await storage.close()
  }
#endif
