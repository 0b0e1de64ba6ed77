#if SecretService
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  import KistTesting
  import Synchronization
  import Testing

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `While kist is locked, the service` {
    @Test func `answers a search with an error, not with nothing`() async throws {
      let lockable = Lockable()
      try await withService(lockable.functions()) { (client, _) async throws in
        await expectError(isLocked) { _ = try await client.search([("service", "example.org")]) }
        let session = try await client.openPlainSession()
        await expectError(isLocked) {
          _ = try await client.create("x", [("a", "b")], session: session)
        }
      }
    }

    @Test func `finds nothing only if kist is unlocked, right after a lock elsewhere too`()
      async throws
    {
      let lockable = Lockable()
      lockable.isLocked.store(false, ordering: .relaxed)
      try await withService(lockable.functions()) { (client, _) async throws in
        #expect(try await client.search([]).unlocked.count == 1)
        #expect(try await client.search([("service", "nothing")]).unlocked == [])
        lockable.isLocked.store(true, ordering: .relaxed)
        await expectError(isLocked) { _ = try await client.search([("service", "nothing")]) }
      }
    }

    @Test func `shows the locked item of a search only to the program that searched`()
      async throws
    {
      let lockable = Lockable()
      let asking = Asking(canAsk: { true }, passphrase: { _ in .dismissed })
      try await withService(lockable.functions(asking: asking)) { (client, bus) async throws in
        let item = try await client.search([("secret", "attribute")]).locked[0]
        #expect(try await client.text("Label", of: item, "Item") == "Locked")
        let other = try await BusClient.connect(to: bus.address)
        let session = try await other.openPlainSession()
        await expectError(noSuchObject) { _ = try await other.text("Label", of: item, "Item") }
        await expectError(noSuchObject) { _ = try await other.move("Unlock", [item]) }
        await expectError(noSuchObject) {
          _ = try await other.secret(of: item, session: session)
        }
        await expectError(noSuchObject) {
          try await other.call(root, "org.freedesktop.Secret.Service", "GetSecrets") { call in
            call.write(paths: [item])
            call.write(path: session)
          }
        }
        #expect(try await client.move("Unlock", [item]).prompt != "/")
      }
    }

    @Test func `answers with the problem of a storage that no passphrase opens, and does not ask`()
      async throws
    {
      let lockable = Lockable()
      let asker = Asker(passphrase: Lockable.passphrase)
      try await withService(lockable.functions(asking: asker.asking)) { (client, _) async throws in
        let prompt = try await client.move("Unlock", [login]).prompt
        lockable.problem.withLock { $0 = StorageError(.corrupt, "the store is an older copy") }
        try await client.show(prompt)
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(await client.completed[0].isDismissed)
        let failed = "org.freedesktop.DBus.Error.Failed"
        await expectError(failed) { _ = try await client.search([("service", "example.org")]) }
        await expectError(failed) { _ = try await client.move("Unlock", [login]) }
        #expect(asker.questions == [])
      }
    }

    @Test func `still shows the default collection`() async throws {
      try await withService(Lockable().functions()) { (client, _) async throws in
        #expect(try await client.text("Label", of: defaultAlias, "Collection") == "Login")
        #expect(try await client.paths("Items", of: login, "Collection") == [])
        let alias = try await client.call(
          root, "org.freedesktop.Secret.Service", "ReadAlias", { $0.write("default") },
          read: { try $0.readPath() })
        #expect(alias == login)
      }
    }

    @Test func `gives a prompt that is dismissed at once where the user cannot be asked`()
      async throws
    {
      try await withService(Lockable().functions()) { (client, bus) async throws in
        let (unlocked, prompt) = try await client.move("Unlock", [defaultAlias])
        #expect(unlocked == [])
        let other = try await BusClient.connect(to: bus.address)
        await expectError(noSuchObject) { try await other.show(prompt) }
        try await client.show(prompt)
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(await client.completed[0].isDismissed)
        #expect(await client.completed[0].paths == [])
        await expectError(noSuchObject) { try await client.show(prompt) }
      }
    }

    @Test func `unlocks with the passphrase of the user, who is asked again after a typo`()
      async throws
    {
      let lockable = Lockable()
      let asked = Mutex<[Bool]>([])
      let asking = Asking(
        canAsk: { true },
        passphrase: { question in
          asked.withLock { $0.append(question.wasWrong) }
          return .passphrase(Secret(utf8: question.wasWrong ? Lockable.passphrase : "typo"))
        })
      try await withService(lockable.functions(asking: asking)) { (client, _) async throws in
        // One locked item takes the place of what the search will find.
        let (unlocked, locked) = try await client.search([("service", "example.org")])
        #expect(unlocked == [] && locked.count == 1)
        let (paths, prompt) = try await client.move("Unlock", locked)
        #expect(paths == [])
        try await client.show(prompt)
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(asked.withLock { $0 } == [false, true])
        let found = await client.completed[0].paths
        #expect(found.count == 1)
        let session = try await client.openPlainSession()
        #expect(try await client.secret(of: found[0], session: session).text == "correct horse")
        #expect(try await client.search([("service", "example.org")]).unlocked == found)
      }
    }

    @Test func `notices that it was locked elsewhere, and has properties for the locked item`()
      async throws
    {
      let lockable = Lockable()
      lockable.isLocked.store(false, ordering: .relaxed)
      let asking = Asking(canAsk: { true }, passphrase: { _ in .dismissed })
      try await withService(lockable.functions(asking: asking)) { (client, _) async throws in
        #expect(try await client.search([]).unlocked.count == 1)
        lockable.isLocked.store(true, ordering: .relaxed)
        let (unlocked, locked) = try await client.search([("service", "example.org")])
        #expect(unlocked == [] && locked.count == 1)
        #expect(try await client.text("Label", of: locked[0], "Item") == "Locked")
        // Once kist is unlocked, it is the first item that the search finds.
        lockable.isLocked.store(false, ordering: .relaxed)
        #expect(try await client.text("Label", of: locked[0], "Item") == "example.org alice")
      }
    }

    @Test func `serves again as soon as it was unlocked elsewhere`() async throws {
      let lockable = Lockable()
      try await withService(lockable.functions()) { (client, _) async throws in
        await expectError(isLocked) { _ = try await client.search([]) }
        lockable.isLocked.store(false, ordering: .relaxed)
        #expect(try await client.search([]).unlocked.count == 1)
      }
    }

    @Test func `opens it itself if a key file does`() async throws {
      let lockable = Lockable(unlocksWith: .keyFile)
      try await withService(lockable.functions()) { (client, _) async throws in
        #expect(try await client.search([]).unlocked.count == 1)
        #expect(try await client.move("Lock", [defaultAlias]).paths == [])
        // Locked by `kist lock`, of which nothing reports.
        lockable.isLocked.store(true, ordering: .relaxed)
        let item = try await client.search([]).unlocked[0]
        let session = try await client.openPlainSession()
        #expect(try await client.secret(of: item, session: session).text == "correct horse")
      }
    }

    @Test func `is locked by a program, for all programs`() async throws {
      let lockable = Lockable()
      lockable.isLocked.store(false, ordering: .relaxed)
      try await withService(lockable.functions()) { (client, _) async throws in
        #expect(try await client.search([]).unlocked.count == 1)
        #expect(
          try await client.move("Lock", [defaultAlias, login]).paths == [defaultAlias, login])
        await expectError(isLocked) { _ = try await client.search([]) }
      }
    }

    @Test func `stays locked if a program locks it while all items are read`() async throws {
      let lockable = Lockable()
      lockable.isLocked.store(false, ordering: .relaxed)
      let (functions, reading, release) = lockable.readingSlowly()
      reading.isHeld.value = true
      try await withService(functions) { (client, bus) async throws in
        let other = try await BusClient.connect(to: bus.address)
        async let search: Void = expectError(isLocked) { _ = try await client.search([]) }
        try await poll("the items are being read") { reading.isReached.value }
        #expect(try await other.move("Lock", [login]).paths == [login])
        release()
        await search
        await expectError(isLocked) { _ = try await other.search([]) }
        lockable.isLocked.store(false, ordering: .relaxed)
        #expect(try await other.search([]).unlocked.count == 1)
      }
    }

    @Test func `stays locked if it is locked before changed items are read again`() async throws {
      let lockable = Lockable()
      let (functions, reading, release) = lockable.readingSlowly()
      try await withService(functions) { (client, bus) async throws in
        let other = try await BusClient.connect(to: bus.address)
        try await other.listen()
        await expectError(isLocked) { _ = try await client.search([]) }
        reading.isHeld.value = true
        lockable.isLocked.store(false, ordering: .relaxed)
        async let search: Void = expectError(isLocked) { _ = try await client.search([]) }
        try await poll("the items are being read") { reading.isReached.value }
        _ = try await functions.storage.save(.sample(CredentialKey(service: "changed")))
        try await poll("the change arrives") {
          await other.signals.contains { $0.hasPrefix("ItemCreated") }
        }
        lockable.isLocked.store(true, ordering: .relaxed)
        release()
        await search
        await expectError(isLocked) { _ = try await other.search([]) }
        lockable.isLocked.store(false, ordering: .relaxed)
        #expect(try await other.search([]).unlocked.count == 2)
      }
    }

    @Test func `limits the prompts of one program`() async throws {
      try await withService(Lockable().functions()) { (client, bus) async throws in
        for _ in 0..<ServiceLimits.prompts { _ = try await client.move("Unlock", [login]) }
        await expectError(limitsExceeded) { _ = try await client.move("Unlock", [login]) }
        let other = try await BusClient.connect(to: bus.address)
        #expect(try await other.move("Unlock", [login]).prompt != "/")
      }
    }
  }

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `An unlocked service` {
    @Test func `gives back each unlocked path as it was given, and leaves out unknown ones`()
      async throws
    {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("x", [("a", "b")], session: session)
        let given = [defaultAlias, item, defaultAlias, login]
        let unlocked = try await client.move("Unlock", given + [login + "/nothing", "/nothing"])
        #expect(unlocked.paths == given)
        #expect(unlocked.prompt == "/")
      }
    }
  }
#endif
