#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import KistTesting
  import Testing

  @Suite(.requires(.dbusDaemon, .gdbus, .gnomeKeyring, .secretTool), .timeLimit(.minutes(5)))
  struct `A keyring that is watched` {
    /// What another program's item of kist's schema is found by.
    private let attributes = ["xdg:schema", "io.kist.Credential", "service", "s", "account", "a"]
    private let key = CredentialKey(service: "s", account: "a")

    @Test(.serialized, arguments: WatchContract.all)
    func `keeps the contract with watchers`(rule: WatchContract.Rule) async throws {
      try await withStorage { _, _, storage in
        try await rule.check(.init(storage: storage.credentials, watch: storage.watch))
      }
    }

    @Test func `reports another program's changes of kist's items, and of no others`()
      async throws
    {
      try await withStorage { bus, _, storage in
        let tool = SecretTool(on: bus)
        let changes = try await storage.watch().makeAsyncIterator()
        try await tool.store("x".utf8, "service", "s", "account", "a")
        try await tool.store("one".utf8, attributes)
        // The last of them, which stand behind all of one kind that may be told of one change.
        let saved = try await changes.next()
        #expect(saved?.event == .saved(key))
        // In place, within the second: neither the item nor its revision is another one.
        try await tool.store("two".utf8, attributes)
        #expect(try await changes.next()?.event == .saved(key))
        try await tool.clear("service", "s", "account", "a")
        #expect(try await changes.first { $0 != .saved(key) } == .deleted(key))
        let own = try await storage.credentials.save(.sample())
        #expect(try await changes.first { $0 != .deleted(key) } == .saved(own.key))
      }
    }

    @Test func `reports a save and a delete of another kistd as one change each`() async throws {
      try await withStorage { bus, _, storage in
        let other = Libsecret.open(.init(busAddress: bus.address))
        let changes = try await storage.watch().makeAsyncIterator()
        for _ in 0..<3 {
          let saved = try await other.credentials.save(.sample())
          #expect(try await changes.next() == .saved(.sample, saved.revision))
        }
        try await other.credentials.delete(.sample)
        #expect(try await changes.next() == .deleted(.sample, nil))
        let own = try await storage.credentials.save(.sample(key))
        #expect(try await changes.next() == .saved(key, own.revision))
        await other.close()
      }
    }

    @Test func `says to read again when its provider was restarted, and goes on`() async throws {
      try await withStorage { bus, keyring, storage in
        try await storage.credentials.save(.sample())
        let changes = try await storage.watch().makeAsyncIterator()
        for _ in 0..<2 {
          try await keyring.restart()
          #expect(try await changes.next() == .reset)
          let saved = try await storage.credentials.save(.sample())
          #expect(try await changes.first { $0 != .reset } == .saved(.sample))
          #expect(try await storage.credentials.load(.sample).summary == saved)
          try await SecretTool(on: bus).store("one".utf8, attributes)
          #expect(try await changes.first { $0 == .saved(key) } == .saved(key))
        }
      }
    }

    @Test func `can be watched while it is locked, and says to read once it is not`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.locked, on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        let changes = try await storage.watch().makeAsyncIterator()
        try await keyring.replace(password: "pw")
        #expect(try await changes.next() == .reset)
        try await storage.credentials.save(.sample())
        #expect(try await changes.first { $0 != .reset } == .saved(.sample))
        #expect(try await storage.access.lock().isLocked)
        // Nothing is told of that, and what is locked is not taken for deleted.
        try await keyring.replace(password: "pw")
        #expect(try await changes.first { $0 != .saved(.sample) } == .reset)
        await storage.close()
      }
    }

    @Test func `without a bus or a provider is not watched, and ends its watches at the end`()
      async throws
    {
      await expect(.unavailable) { try await Libsecret.open(.init(busAddress: nil)).watch() }
      try await withStorage { _, keyring, storage in
        let changes = try await storage.watch()
        try await keyring.stop()
        await storage.close()
        await expect(.unavailable) { try await changes.makeAsyncIterator().next() }
        await expect(.unavailable) { try await storage.watch() }
      }
    }

    @Test func `ends its watches when the bus does`() async throws {
      let storage = try await {
        var opened: OpenStorage?
        var changes: CredentialChanges?
        try await withPrivateBus { bus in
          _ = try await GnomeKeyring(.password("pw"), on: bus)
          let storage = Libsecret.open(.init(busAddress: bus.address))
          changes = try await storage.watch()
          opened = storage
        }
        await expect(.unavailable) { try await changes?.makeAsyncIterator().next() }
        return try #require(opened)
      }()
      await expect(.unavailable) { try await storage.watch() }
      await storage.close()
    }

    private func withStorage(
      _ body: (PrivateBus, GnomeKeyring, OpenStorage) async throws -> Void
    ) async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.password("pw"), on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await body(bus, keyring, storage)
        await storage.close()
      }
    }
  }

  /// What is told without its revision.
  private enum Event: Equatable {
    case saved(CredentialKey), deleted(CredentialKey), reset
  }

  extension CredentialChange {
    fileprivate var event: Event {
      switch self {
      case .saved(let key, _): .saved(key)
      case .deleted(let key, _): .deleted(key)
      case .reset: .reset
      }
    }
  }

  extension CredentialChanges.Iterator {
    /// The first change that is as asked for, and whatever is told before it.
    fileprivate func first(where isMeant: (Event) -> Bool) async throws -> Event? {
      while let change = try await next() { if isMeant(change.event) { return change.event } }
      return nil
    }
  }
#endif
