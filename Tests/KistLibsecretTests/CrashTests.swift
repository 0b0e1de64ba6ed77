#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import Testing

  @Suite(.requires(.dbusDaemon, .gdbus, .gnomeKeyring, .secretTool), .timeLimit(.minutes(10)))
  struct `A crash between any two calls on the bus` {
    @Test(arguments: InterruptedChange.allCases)
    func `leaves the old or the new credential, and the next save cleans up`(
      change: InterruptedChange
    ) async throws {
      try await withPrivateBus { bus in
        _ = try await GnomeKeyring(.password("pw"), on: bus)
        #expect(try await change.faults(on: bus, by: inThisProcess) == [])
      }
    }

    @Test(arguments: [GnomeKeyring.Start.password("pw"), .blankPassword])
    func `does so when the keyring is restarted after it`(
      start: GnomeKeyring.Start
    ) async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(start, on: bus)
        let faults = try await InterruptedChange.replaceWhatWasLeft.faults(
          on: bus, by: inThisProcess
        ) { try await keyring.restart() }
        #expect(faults == [])
      }
    }
  }

  private let inThisProcess = KeyringAccess { address, body in
    let storage = Libsecret.open(.init(busAddress: address))
    try await body(storage.credentials) {}
    await storage.close()
  }
#endif
