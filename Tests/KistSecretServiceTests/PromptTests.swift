#if SecretService
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  @testable import KistSecretServiceProgram
  import KistTesting
  import Synchronization
  import Testing

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `A prompt for the passphrase` {
    @Test func `asks three times, with the window of the program`() async throws {
      let asker = Asker(passphrase: "typo")
      try await withService(Lockable().functions(asking: asker.asking)) {
        (client, _) async throws in
        let prompt = try await client.move("Unlock", [login]).prompt
        try await client.show(prompt, window: "0x2a")
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(asker.questions == ["first 0x2a", "wrong 0x2a", "wrong 0x2a"])
        #expect(await client.completed[0] == (true, "ao", []))
      }
    }

    @Test(arguments: [true, false])
    func `waits for an unlocking elsewhere if no window can ask, for the time that was set`(
      isUnlocked: Bool
    ) async throws {
      let lockable = Lockable()
      try await withPrivateBus { bus in
        _ = startService(on: bus.address) { connection in
          let prompts = UserPrompts(
            connection, lockable.functions().access, pinentry: nil,
            patience: isUnlocked ? .seconds(300) : .milliseconds(1), findDisplay: { _ in nil })
          return lockable.functions(asking: Asking(prompts))
        }
        try await poll("the service has its name") { try await bus.hasProvider() }
        let client = try await BusClient.connect(to: bus.address)
        let locked = try await client.search([("service", "example.org")]).locked
        try await client.show(try await client.move("Unlock", locked).prompt)
        lockable.isLocked.store(!isUnlocked, ordering: .relaxed)
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(await client.completed[0].isDismissed == !isUnlocked)
        #expect(await client.completed[0].paths.count == (isUnlocked ? 1 : 0))
      }
    }

    @Test func `finds the display of a desktop that started later`() async throws {
      try await withPrivateBus { bus in
        let client = try await BusClient.connect(to: bus.address)
        #expect(await client.displayOfSystemd() == nil)
        let systemd = try await BusClient.connect(to: bus.address)
        try await systemd.beSystemd(with: ["HOME=/h", "DISPLAY=", "XAUTHORITY=/x"])
        #expect(await client.displayOfSystemd() == nil)
        try await systemd.beSystemd(with: ["HOME=/h", "DISPLAY=:1", "XAUTHORITY=/x"])
        #expect(await client.displayOfSystemd() == ["DISPLAY=:1", "XAUTHORITY=/x"])
      }
    }

    @Test func `waits while another prompt asks, and needs no answer if that one unlocked kist`()
      async throws
    {
      let asker = Asker(passphrase: Lockable.passphrase, hesitates: true)
      try await withService(Lockable().functions(asking: asker.asking)) {
        (client, bus) async throws in
        let others = [
          try await BusClient.connect(to: bus.address),
          try await BusClient.connect(to: bus.address),
        ]
        for client in [client] + others {
          try await client.show(try await client.move("Unlock", [login]).prompt)
        }
        // One that ends before its turn.
        let prompt = try await client.move("Unlock", [login]).prompt
        try await client.show(prompt)
        try await client.dismiss(prompt)
        #expect(await client.completed.count == 1)
        try await poll("the first prompt asks") { asker.questions.count == 1 }
        asker.answer()
        for client in others {
          try await poll("the prompt ends") { await client.completed.count == 1 }
          #expect(await client.completed[0] == (false, "ao", [login]))
        }
        #expect(asker.questions.count == 1)
      }
    }

    @Test func `withdraws its question if the program dismisses it, and the next one asks`()
      async throws
    {
      let asker = Asker(hesitates: true)
      try await withService(Lockable().functions(asking: asker.asking)) {
        (client, bus) async throws in
        let other = try await BusClient.connect(to: bus.address)
        let prompt = try await client.move("Unlock", [login]).prompt
        try await client.show(prompt)
        try await poll("the prompt asks") { asker.openQuestions == 1 }
        try await other.show(try await other.move("Unlock", [login]).prompt, window: "next")
        try await client.dismiss(prompt)
        try await poll("the next one asks") { asker.questions == ["first ", "first next"] }
        #expect(asker.openQuestions == 1)
        asker.answer()
        try await poll("the prompt ends") { await other.completed.count == 1 }
      }
    }
  }

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `Deleting a collection with items` {
    /// Runs a test with a collection of three items.
    private func withCollection(
      _ asker: Asker, failingAfter failing: Int = 0,
      _ body: (BusClient, String, OpenStorage) async throws -> Void
    ) async throws {
      let storage = OpenStorage.inMemory()
      var functions = SecretService.Functions(storage, asking: asker.asking)
      functions.storage.delete = { request throws(StorageError) in
        if try await storage.credentials.findAll().count <= failing {
          throw StorageError(.unavailable, "the disk is gone")
        }
        return try await storage.credentials.delete(request)
      }
      try await withService(functions) { (client, _) async throws in
        let collection = try await client.makeCollection("aws")
        let session = try await client.openPlainSession()
        for name in ["1", "2", "3"] {
          _ = try await client.create("x", [("a", name)], in: collection, session: session)
        }
        _ = try await client.create("x", [("other", "")], session: session)
        try await body(client, collection, storage)
      }
    }

    @Test func `deletes them once the user agrees, and nothing else`() async throws {
      let asker = Asker(confirms: true)
      try await withCollection(asker) { client, collection, storage in
        let prompt = try await client.delete(collection: collection)
        #expect(try await storage.credentials.findAll().count == 5)
        try await client.show(prompt)
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(await client.completed[0] == (false, "s", []))
        #expect(asker.questions == ["Credentials: 3\nCollection: aws"])
        #expect(try await storage.credentials.findAll().count == 1)
        await expectError(noSuchObject) { _ = try await client.delete(collection: collection) }
      }
    }

    @Test func `deletes nothing if the user does not agree, or the program dismisses the prompt`()
      async throws
    {
      let asker = Asker(confirms: false, hesitates: true)
      try await withCollection(asker) { client, collection, storage in
        for isDismissed in [false, true] {
          let prompt = try await client.delete(collection: collection)
          try await client.show(prompt)
          // The program gets its reply before that.
          try await poll("the prompt asks") { asker.openQuestions == 1 }
          let count = await client.completed.count
          if isDismissed { try await client.dismiss(prompt) } else { asker.answer() }
          try await poll("the prompt ends") { await client.completed.count == count + 1 }
          #expect(await client.completed[count] == (true, "s", []))
          #expect(try await storage.credentials.findAll().count == 5)
        }
      }
    }

    @Test func `asks again if an item was added while the user was asked`() async throws {
      let addition = Mutex<(@Sendable () async -> Void)?>(nil)
      let asker = Asker(
        confirms: true,
        whenConfirmed: {
          await addition.withLock { addition in
            defer { addition = nil }
            return addition
          }?()
        })
      try await withCollection(asker) { client, collection, storage in
        let session = try await client.openPlainSession()
        addition.withLock {
          $0 = { _ = try? await client.create("x", [("a", "4")], in: collection, session: session) }
        }
        try await client.show(try await client.delete(collection: collection))
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(
          asker.questions
            == ["Credentials: 3\nCollection: aws", "Credentials: 1\nCollection: aws"])
        #expect(try await storage.credentials.findAll().count == 1)
      }
    }

    @Test func `reports an error in the middle, and keeps the collection with the rest`()
      async throws
    {
      let asker = Asker(confirms: true)
      try await withCollection(asker, failingAfter: 4) { client, collection, storage in
        try await client.show(try await client.delete(collection: collection))
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(await client.completed[0] == (true, "s", []))
        #expect(
          asker.reports == [
            "The collection was not deleted: the disk is gone. Of its 3 credentials, 1 were "
              + "deleted."
          ])
        #expect(try await client.paths("Items", of: collection, "Collection").count == 2)
      }
    }
  }

  extension BusClient {
    fileprivate func displayOfSystemd() async -> [String]? {
      await Display.ofSystemd(bus)?.variables
    }

    /// Takes the name of systemd, with these variables as its environment.
    fileprivate func beSystemd(with variables: [String]) async throws {
      bus.serve("/org/freedesktop/systemd1") { [bus] call in
        let reply = call.reply()
        reply.writeVariant(of: "as") { reply.write(variables) }
        bus.send(reply)
      }
      try await takeName("org.freedesktop.systemd1")
    }
  }
#endif
