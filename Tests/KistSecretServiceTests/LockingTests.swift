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
      let asking = Asking(canAsk: { true }) { wasWrong in
        asked.withLock { $0.append(wasWrong) }
        return .passphrase(Secret(utf8: wasWrong ? Lockable.passphrase : "typo"))
      }
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
      let asking = Asking(canAsk: { true }) { _ in .dismissed }
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

  extension BusClient {
    fileprivate func show(_ prompt: String) async throws {
      try await call(prompt, "org.freedesktop.Secret.Prompt", "Prompt") { $0.write("") }
    }
  }

  /// A storage with one credential that can be locked.
  final class Lockable: Sendable {
    static let passphrase = "battery staple"
    let isLocked = Atomic(true)
    private let unlocking: StorageStatus.Unlocking
    private let storage = OpenStorage.inMemory()

    init(unlocksWith unlocking: StorageStatus.Unlocking = .passphrase) {
      self.unlocking = unlocking
    }

    func functions(asking: Asking = .nobody) -> SecretService.Functions {
      let credentials = storage.credentials
      let storage = UserStorage(
        save: { [self] request throws(StorageError) in
          try check()
          return try await credentials.save(request)
        },
        load: { [self] request throws(StorageError) in
          try check()
          return try await credentials.load(request)
        },
        delete: { [self] request throws(StorageError) in
          try check()
          return try await credentials.delete(request)
        },
        find: { [self] query throws(StorageError) in
          if try await credentials.findAll().isEmpty { try await credentials.save(.sample()) }
          try check()
          return try await credentials.find(query)
        })
      let access = StorageAccess(
        status: { [self] in status() },
        lock: { [self] in
          isLocked.store(true, ordering: .relaxed)
          return status()
        },
        unlock: { [self] passphrase throws(StorageError) in
          guard unlocking == .keyFile || passphrase == Secret(utf8: Self.passphrase) else {
            throw .wrongPassphrase
          }
          isLocked.store(false, ordering: .relaxed)
          return status()
        })
      return SecretService.Functions(
        storage: storage, access: access, watch: self.storage.watch, asking: asking)
    }

    /// Returns functions that can hold the reading of all items, after it got them.
    func readingSlowly() -> (
      functions: SecretService.Functions, reading: (isHeld: Flag, isReached: Flag),
      release: @Sendable () -> Void
    ) {
      var functions = functions()
      let find = functions.storage.find
      let (isHeld, isReached) = (Flag(false), Flag(false))
      let (stuck, release) = AsyncStream.makeStream(of: Void.self)
      functions.storage.find = { query throws(StorageError) in
        let found = try await find(query)
        if isHeld.value, query.service == nil {
          isReached.value = true
          for await _ in stuck {}
        }
        return found
      }
      return (functions, (isHeld, isReached), { release.finish() })
    }

    private func check() throws(StorageError) {
      if isLocked.load(ordering: .relaxed) { throw .locked("the storage is locked") }
    }

    private func status() -> StorageStatus {
      StorageStatus(
        storage: "memory", isLocked: isLocked.load(ordering: .relaxed), unlocksWith: unlocking,
        reopensAtRestart: false, durability: .memory, keyProtection: "none")
    }
  }
#endif
