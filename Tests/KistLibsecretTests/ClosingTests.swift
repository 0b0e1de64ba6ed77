#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import KistTesting
  import Testing

  @Suite(.requires(.dbusDaemon, .gdbus, .python), .timeLimit(.minutes(2)))
  struct `Closing a keyring` {
    @Test func `lets the change end that is under way, and no other begin`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider(
          [.slow(from: "CreateItem", in: "CreateItem")], on: bus)
        let before = Libsecret.open(.init(busAddress: bus.address))
        try await before.credentials.save(.sample(secret: "old"))
        await before.close()
        let created = provider.calls.filter { $0 == "Collection.CreateItem" }.count

        let storage = Libsecret.open(.init(busAddress: bus.address))
        let save = Task { try await storage.credentials.save(.sample(secret: "new")) }
        try await poll("the change is under way") {
          provider.calls.filter { $0 == "Collection.CreateItem" }.count > created
        }
        let queued = Task { try await storage.credentials.save(.sample(secret: "queued")) }
        await storage.close()
        #expect(provider.calls.last == "Item.Delete")
        _ = try await save.value
        let error = await #expect(throws: StorageError.self) { _ = try await queued.value }
        #expect(error?.code == .unavailable)
        #expect(error?.outcome == .unchanged)
        let after = Libsecret.open(.init(busAddress: bus.address))
        #expect(try await after.credentials.load(.sample).secret == Secret(utf8: "new"))
        await after.close()
      }
    }

    @Test func `waits for one that gets no answer until its deadline`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.mute(in: "CreateItem")], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address, deadline: .seconds(4)))
        let save = Task { try await storage.credentials.save(.sample()) }
        try await poll("the change is under way") {
          provider.calls.contains("Collection.CreateItem")
        }
        await storage.close()
        let error = await #expect(throws: StorageError.self) { _ = try await save.value }
        #expect(error?.code == .timeout)
        #expect(error?.outcome == .unknown)
      }
    }
  }
#endif
