#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import KistTesting
  import Testing

  @Suite(.requires(.dbusDaemon, .gdbus, .python), .timeLimit(.minutes(10)))
  struct `A provider that misbehaves` {
    /// What it does, what is asked of it, and what that answers.
    struct Case: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let behaviours: [MockProvider.Behaviour]
      let request: Request
      let code: StorageError.Code
      /// For a change.
      let outcome: StorageError.Outcome?

      /// Where a timeout is expected, long enough for what comes before the call without an answer.
      var deadline: Duration { code == .timeout ? .seconds(4) : .seconds(30) }

      /// The secrets that may be there after it; `nil` for none.
      var leaves: [Secret?] {
        guard outcome == .unknown else { return [Secret(utf8: "old")] }
        return [Secret(utf8: "old"), request.isDelete ? nil : Secret(utf8: "new")]
      }

      init(
        _ description: String, _ behaviours: [MockProvider.Behaviour], _ request: Request,
        _ code: StorageError.Code, _ outcome: StorageError.Outcome? = nil
      ) {
        testDescription = description
        self.behaviours = behaviours
        self.request = request
        self.code = code
        self.outcome = outcome
      }
    }

    private static let save = Request("a save") {
      _ = try await $0.credentials.save(.sample(secret: "new"))
    }
    private static let load = Request("a load") { _ = try await $0.credentials.load(.sample) }
    private static let loadOfNothing = Request("a load of what is not there") {
      _ = try await $0.credentials.load(CredentialKey(service: "nothing"))
    }
    private static let delete = Request("a delete", isDelete: true) {
      _ = try await $0.credentials.delete(.sample)
    }
    private static let find = Request("a find") {
      _ = try await $0.credentials.find(CredentialQuery())
    }
    private static let unlock = Request("an unlock") { _ = try await $0.access.unlock(nil) }
    private static let lock = Request("a lock") { _ = try await $0.access.lock() }
    private static let status = Request("a status") { _ = try await $0.access.status() }

    @Test(
      .serialized,
      arguments: [
        Case("is mute", [.mute()], save, .timeout, .unchanged),
        Case("is mute", [.mute()], load, .timeout),
        Case("is mute", [.mute()], delete, .timeout, .unchanged),
        Case("is mute", [.mute()], find, .timeout),
        Case("is mute", [.mute()], status, .timeout),
        Case("is mute", [.mute()], unlock, .timeout),
        Case("is mute after the session", [.muteAfterSession], load, .timeout),
        Case("is mute at a create", [.mute(in: "CreateItem")], save, .timeout, .unknown),
        Case("is mute at a delete", [.mute(in: "Delete")], delete, .timeout, .unknown),
        Case("dies in a search", [.dies(in: "SearchItems")], load, .unavailable),
        Case("dies in a load", [.dies(in: "GetSecrets")], load, .unavailable),
        Case("dies in a create", [.dies(in: "CreateItem")], save, .unavailable, .unknown),
        Case("dies after a create", [.diesAfter("CreateItem")], save, .unavailable, .unknown),
        Case("dies in a delete", [.dies(in: "Delete")], delete, .unavailable, .unknown),
        Case("answers with wrong types", [.answersWrongTypes()], load, .unavailable),
        Case("answers with wrong types", [.answersWrongTypes()], find, .unavailable),
        Case("answers with wrong types", [.answersWrongTypes()], status, .unavailable),
        Case(
          "answers a search with wrong types", [.answersWrongTypes(in: "SearchItems")], load,
          .unavailable),
        Case("answers a get with wrong types", [.answersWrongTypes(in: "Get")], load, .unavailable),
        Case(
          "answers a load with wrong types", [.answersWrongTypes(in: "GetSecrets")], load,
          .unavailable),
        Case(
          "answers a create with wrong types", [.answersWrongTypes(in: "CreateItem")], save,
          .unavailable, .unknown),
        Case("opens a session with a string", [.sessionKey(.string)], load, .unavailable),
        Case(
          "opens a session with a number", [.sessionKey(.number)], save, .unavailable, .unchanged),
        Case("opens a session with no key", [.sessionKey(.none)], find, .unavailable),
        Case("has no collection", [.noDefaultCollection], status, .unavailable),
        Case("has no collection", [.noDefaultCollection], save, .unavailable, .unchanged),
        Case("has no collection", [.noDefaultCollection], unlock, .unavailable),
        Case("is locked", [.locked], save, .locked, .unchanged),
        Case("is locked", [.locked], load, .locked),
        Case("is locked", [.locked], delete, .locked, .unchanged),
        Case("is locked", [.locked], find, .locked),
        Case("asks before it creates", [.createAsksPrompt], save, .denied, .unchanged),
        Case("asks before it deletes", [.deleteAsksPrompt], delete, .denied, .unchanged),
        Case("asks before it locks", [.lockAsksPrompt], lock, .denied),
        Case(
          "waits before it creates", [.createAsksPrompt, .prompt(.neverCompletes)], save, .timeout,
          .unknown),
        Case(
          "is slow to lock, and to say so after it", [.slow(from: "Lock", in: "Get")], lock,
          .timeout),
        Case(
          "is slow to unlock, and to say what there is after it",
          [.locked, .prompt(.accepted), .slow(from: "Prompt", in: "SearchItems")], unlock,
          .timeout),
        Case("has its prompt dismissed", [.locked, .prompt(.dismissed)], unlock, .locked),
        Case(
          "has its prompt dismissed in another type", [.locked, .prompt(.dismissedWithWrongType)],
          unlock, .locked),
        Case("never completes its prompt", [.locked, .prompt(.neverCompletes)], unlock, .timeout),
        Case("finds items that are gone", [.findsGhosts], find, .busy),
        Case("finds items that are gone", [.findsGhosts], status, .busy),
        Case("finds items that are gone", [.findsGhosts], loadOfNothing, .busy),
        Case("finds items that are gone", [.findsGhosts], save, .busy, .unchanged),
        Case("finds items that are gone", [.findsGhosts], delete, .busy, .unchanged),
        Case("claims to store", [.claimsToStore], save, .unavailable, .unchanged),
        Case("alters what it stores", [.appendsToValues], save, .unavailable, .unchanged),
      ])
    func `is distinguished from others`(example: Case) async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider(on: bus)
        let before = Libsecret.open(.init(busAddress: bus.address))
        try await before.credentials.save(.sample(secret: "old"))
        await before.close()

        try await provider.restart(example.behaviours)
        let seen = provider.calls.count
        let storage = Libsecret.open(.init(busAddress: bus.address, deadline: example.deadline))
        let error = try #require(
          await #expect(throws: StorageError.self) { try await example.request.run(on: storage) })
        #expect(error.code == example.code, "\(error)")
        #expect(error.outcome == example.outcome)
        #expect(error.hint != nil)
        // Only an unlock shows a prompt of a locked keyring.
        if example.behaviours.contains(.locked), example.request.testDescription != "an unlock" {
          #expect(!provider.calls.dropFirst(seen).contains("Prompt.Prompt"))
        }

        // Nothing is lost, and the storage goes on with a provider that behaves.
        try await provider.restart()
        let kept =
          try await storage.credentials.findAll().isEmpty
          ? nil : try await storage.credentials.load(.sample).secret
        #expect(example.leaves.contains(kept))
        try await storage.credentials.save(.sample(secret: "newest"))
        #expect(try await storage.credentials.findAll().count == 1)
        #expect(try await storage.credentials.load(.sample).secret == Secret(utf8: "newest"))
        await storage.close()
      }
    }

    @Test func `trims blanks alters no secret, for none has them at its ends there`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.altersValues], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        // Blanks at the ends stand in base64, so that this provider keeps every value as it is.
        try await storage.credentials.save(.sample(secret: " blanks "))
        #expect(try await storage.credentials.load(.sample).secret == Secret(utf8: " blanks "))
        #expect(provider.isRunning)
        await storage.close()
      }
    }

    @Test func `finds that another has deleted what it is to delete says that it is gone`()
      async throws
    {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.deletedByAnother], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample())
        #expect(try await storage.credentials.delete(.sample))
        #expect(provider.calls.contains("Item.Delete"))
        #expect(try await storage.credentials.findAll().isEmpty)
        await storage.close()
      }
    }

    @Test func `changes an item where it was to make one loses no credential`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider(on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample(secret: "old"))
        try await provider.restart([.replacesInPlace])
        let error = await #expect(throws: StorageError.self) {
          try await storage.credentials.save(.sample(secret: "new"))
        }
        #expect(error?.code == .unavailable)
        #expect(error?.outcome == .unknown)
        #expect(try await storage.credentials.load(.sample).secret == Secret(utf8: "new"))
        #expect(!provider.calls.contains("Item.Delete"))
        await storage.close()
      }
    }

    @Test func `has more items of a key than may be asked for at once is asked for all`()
      async throws
    {
      try await withPrivateBus { bus in
        let key = CredentialKey.sample
        let others = (0..<200).map { number in
          MockProvider.Item(key.service, key.account, ["more": "\(number)"], value: "other")
        }
        let ours = MockProvider.Item(key.service, key.account, value: "ours")
        _ = try await MockProvider(holding: others + [ours], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        #expect(try await storage.credentials.load(key).secret == Secret(utf8: "ours"))
        #expect(try await storage.credentials.findAll().map(\.key) == [key])
        await storage.close()
      }
    }

    @Test func `puts a zero in front of its key is served`() async throws {
      try await withPrivateBus { bus in
        _ = try await MockProvider([.sessionKey(.longer)], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample(secret: "longer"))
        #expect(try await storage.credentials.load(.sample).secret == Secret(utf8: "longer"))
        await storage.close()
      }
    }

    @Test func `encrypts sessions is shown so in the status`() async throws {
      try await withPrivateBus { bus in
        _ = try await MockProvider(on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        #expect(try await storage.access.status().isSessionEncrypted == true)
        await storage.close()
      }
    }

    @Test func `refuses encrypted sessions is served without, and shown so in the status`()
      async throws
    {
      try await withPrivateBus { bus in
        _ = try await MockProvider([.plainOnly], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        #expect(try await storage.access.status().isSessionEncrypted == false)
        try await storage.credentials.save(.sample(secret: "plain"))
        #expect(try await storage.credentials.load(.sample).secret == Secret(utf8: "plain"))
        await storage.close()
      }
    }

    @Test func `unlocks with a prompt that the user answers`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.locked, .prompt(.accepted)], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        #expect(try await storage.access.status().isLocked)
        #expect(!provider.calls.contains("Prompt.Prompt"))
        #expect(try await storage.access.unlock(nil).isLocked == false)
        #expect(provider.calls.filter { $0 == "Prompt.Prompt" }.count == 1)
        try await storage.credentials.save(.sample())
        #expect(try await storage.credentials.findAll().count == 1)
        await storage.close()
      }
    }

    @Test func `shows one prompt at a time`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.locked, .prompt(.neverCompletes)], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address, deadline: .seconds(60)))
        let first = Task { try await storage.access.unlock(nil) }
        try await poll("the prompt is shown") { provider.calls.contains("Prompt.Prompt") }
        let second = await #expect(throws: StorageError.self) {
          try await storage.access.unlock(nil)
        }
        #expect(second?.code == .busy)
        try await provider.kill()
        let error = await #expect(throws: StorageError.self) { try await first.value }
        #expect(error?.code == .unavailable)
        await storage.close()
      }
    }

    @Test func `is given no passphrase`() async throws {
      try await withPrivateBus { bus in
        _ = try await MockProvider([.locked], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        let error = await #expect(throws: StorageError.self) {
          try await storage.access.unlock(Secret(utf8: "pw"))
        }
        #expect(error?.code == .badRequest)
        await storage.close()
      }
    }
  }
#endif
