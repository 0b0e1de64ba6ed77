#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import Testing

  @Suite(.requires(.dbusDaemon, .gdbus, .python, .secretTool), .timeLimit(.minutes(10)))
  struct `An item that is damaged` {
    private let whole = CredentialKey(service: "example.org", account: "alice")
    private let damaged = CredentialKey(service: "example.net", account: "bob")

    @Test func `in its bookkeeping is corrupt, and takes no other credential away`() async throws {
      let item = MockProvider.Item("example.net", "bob", ["kist": "???"], value: "x")
      try await withDamagedItem(item) { storage, _ in
        try await expectCorrupt { try await storage.credentials.load(damaged) }
        try await expectCorrupt { try await storage.credentials.findAll() }
        #expect(try await storage.credentials.load(whole).secret == Secret(utf8: "whole"))
        let query = CredentialQuery(service: whole.service)
        #expect(try await storage.credentials.find(query).credentials.map(\.key) == [whole])
      }
    }

    @Test(arguments: ["kist1:!", String(repeating: "a", count: Limits.secret + 1)])
    func `in its value is corrupt where it is loaded, is listed, and a save replaces it`(
      value: String
    ) async throws {
      let item = MockProvider.Item("example.net", "bob", value: value)
      try await withDamagedItem(item) { storage, provider in
        let error = try await expectCorrupt { try await storage.credentials.load(damaged) }
        #expect(error.hint?.contains("`kist save`") == true)
        #expect(try await storage.credentials.load(whole).secret == Secret(utf8: "whole"))
        #expect(try await storage.credentials.findAll().map(\.key) == [damaged, whole])
        let new = NewCredential(key: damaged, secret: Secret(utf8: "new"))
        let conflict = await #expect(throws: StorageError.self) {
          try await storage.credentials.save(new, if: .ifAbsent)
        }
        #expect(conflict?.code == .conflict)
        #expect(!provider.calls.contains("Collection.CreateItem"))
        try await storage.credentials.save(new)
        #expect(try await storage.credentials.load(damaged).secret == Secret(utf8: "new"))
      }
    }

    @Test func `counts in a status, also after lock and unlock`() async throws {
      let item = MockProvider.Item("example.net", "bob", ["kist": "???"], value: "x")
      try await withDamagedItem(item) { storage, _ in
        let before = try await storage.access.status()
        #expect(before.count == 2)
        #expect(try await storage.access.lock().isLocked)
        #expect(try await storage.access.unlock(nil).count == 2)
      }
    }

    @Test func `is neither replaced nor deleted`() async throws {
      let item = MockProvider.Item("example.net", "bob", ["kist": "???"], value: "x")
      try await withDamagedItem(item) { storage, provider in
        let new = NewCredential(key: damaged, secret: Secret(utf8: "new"))
        try await expectCorrupt(.unchanged) { try await storage.credentials.save(new) }
        try await expectCorrupt(.unchanged) { try await storage.credentials.delete(damaged) }
        #expect(!provider.calls.contains("Item.Delete"))
        #expect(!provider.calls.contains("Collection.CreateItem"))
      }
    }

    @Test func `is shown by secret-tool under the number in the error`() async throws {
      try await withPrivateBus { bus in
        let item = MockProvider.Item("example.net", "bob", ["kist": "???"], value: "x")
        _ = try await MockProvider(holding: [item], on: bus)
        let found = try await SecretTool(on: bus).search("xdg:schema", "io.kist.Credential")
        #expect(found.text.contains("[/1]"))
        #expect(found.errors.contains("attribute.account = bob"))
      }
    }

    /// A whole item has the number 1, and the damaged one 2.
    private func withDamagedItem(
      _ item: MockProvider.Item, _ body: (OpenStorage, MockProvider) async throws -> Void
    ) async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider(
          [.prompt(.accepted)],
          holding: [MockProvider.Item("example.org", "alice", value: "whole"), item], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await body(storage, provider)
        await storage.close()
      }
    }

    @discardableResult
    private func expectCorrupt<Answer>(
      _ outcome: StorageError.Outcome? = nil, _ request: () async throws -> Answer
    ) async throws -> StorageError {
      let error = try #require(await #expect(throws: StorageError.self) { _ = try await request() })
      #expect(error.code == .corrupt)
      #expect(error.outcome == outcome)
      #expect(error.message.hasPrefix("item 2 of the keyring is damaged"))
      #expect(error.hint?.contains("`kist load`") == true)
      return error
    }
  }
#endif
