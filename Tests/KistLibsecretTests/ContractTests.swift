#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import KistTesting
  import KistWire
  import Testing

  private let starts: [GnomeKeyring.Start] = [.password("pw"), .blankPassword]

  @Suite(.requires(.dbusDaemon, .gdbus, .gnomeKeyring), .timeLimit(.minutes(10)))
  struct `A keyring of gnome-keyring` {
    @Test(.serialized, arguments: starts, UserStorageContract.all)
    func `keeps the contract`(
      start: GnomeKeyring.Start, rule: UserStorageContract.Rule
    ) async throws {
      try await withGnomeKeyring(start) { bus, _ in try await check(rule, on: bus) }
    }

    @Test(.serialized, arguments: starts, UserStorageContract.all)
    func `keeps the contract when it is restarted between every change and what is read after it`(
      start: GnomeKeyring.Start, rule: UserStorageContract.Rule
    ) async throws {
      try await withGnomeKeyring(start) { bus, keyring in
        try await check(rule, on: bus) { storage in
          storage.alternating { try await keyring.restart() }
        }
      }
    }

    @Test(.serialized, arguments: UserStorageContract.all)
    func `keeps the contract behind lines`(rule: UserStorageContract.Rule) async throws {
      try await withGnomeKeyring(.password("pw")) { bus, _ in
        try await check(rule, on: bus) { storage in
          let hello = Hello(version: "0", durability: .provider)
          let serve = answer(with: dispatch(Endpoints(storage, .unimplemented, hello: { hello })))
          return Endpoints.remote(over: exchange(over: { line in await serve(line) })).credentials
        }
      }
    }
  }

  @Suite(.requires(.dbusDaemon, .gdbus, .keePassXC, .xvfb), .serialized, .timeLimit(.minutes(10)))
  struct `A keyring of KeePassXC` {
    @Test(arguments: UserStorageContract.all)
    func `keeps the contract`(rule: UserStorageContract.Rule) async throws {
      try await withPrivateBus { bus in
        _ = try await KeePassXC(on: bus)
        try await check(rule, on: bus)
      }
    }

    @Test func `keeps awkward secrets across a restart`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await KeePassXC(on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address)).credentials
        func key(_ number: Int) -> CredentialKey { CredentialKey(service: "awkward \(number)") }
        for (number, awkward) in awkwardSecrets.enumerated() {
          try await storage.save(NewCredential(key: key(number), secret: awkward.secret))
        }
        try await keyring.restart()
        for (number, awkward) in awkwardSecrets.enumerated() {
          #expect(try await storage.load(key(number)).secret == awkward.secret, "\(awkward)")
        }
      }
    }
  }

  /// Runs a test with a gnome-keyring; if the test throws and the program has ended, reports how.
  private func withGnomeKeyring(
    _ start: GnomeKeyring.Start, _ body: (PrivateBus, GnomeKeyring) async throws -> Void
  ) async throws {
    try await withPrivateBus { bus in
      let keyring = try await GnomeKeyring(start, on: bus)
      do { try await body(bus, keyring) } catch {
        // The program leaves the bus a moment before it ends.
        try? await Task.sleep(for: .seconds(1))
        if let ending = keyring.ending { Issue.record("the keyring ended: \(ending)") }
        throw error
      }
    }
  }

  private func check(
    _ rule: UserStorageContract.Rule, on bus: PrivateBus,
    _ decorate: (UserStorage) -> UserStorage = { $0 }
  ) async throws {
    let clock = ManualClock()
    let storage = Libsecret.open(.init(busAddress: bus.address, now: clock.now))
    try await rule.check(.init(storage: decorate(storage.credentials), clock: clock))
    await storage.close()
  }
#endif
