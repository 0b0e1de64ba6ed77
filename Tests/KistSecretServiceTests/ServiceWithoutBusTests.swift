#if SecretService
  import KistCore
  @testable import KistSecretService
  import KistTesting
  import Synchronization
  import Testing

  @Suite(.timeLimit(.minutes(10))) struct `The service without a bus` {
    @Test(arguments: [true, false])
    func `keeps no prompt and no search for a program that left during its call`(
      hasLeft: Bool
    ) async throws {
      var functions = SecretService.Functions(
        .inMemory(), asking: Asking(canAsk: { true }, passphrase: { _ in .dismissed }))
      functions.access.status = {
        StorageStatus(
          storage: "memory", isLocked: true, unlocksWith: .passphrase, reopensAtRestart: false,
          durability: .memory, keyProtection: "none")
      }
      let service = try SecretService(functions, machine: [])
      service.isPresent = { _ in !hasLeft }
      _ = try? await service.unlock([login], for: ":1.1")
      _ = try? await service.search(["a": "b"], for: ":1.1")
      #expect(service.isInUse == !hasLeft)
      #expect(service.lockedSearches.isEmpty == hasLeft)
    }

    @Test func `refuses a search over the limit while kist is locked, and forgets none before it`()
      async throws
    {
      let service = try SecretService(
        Lockable().functions(asking: Asking(canAsk: { true }, passphrase: { _ in .dismissed })),
        machine: [])
      service.isPresent = { _ in true }
      var searches: [String] = []
      for number in 0..<ServiceLimits.lockedSearches {
        searches += try await service.search(["number": "\(number)"], for: ":1.1").locked
      }
      await #expect(throws: ServiceError.isLocked) {
        try await service.search(["number": "one more"], for: ":1.1")
      }
      #expect(Set(searches).count == ServiceLimits.lockedSearches)
      #expect(try await service.unlock(searches, for: ":1.1").prompt != ObjectPath.none)
      await #expect(throws: ServiceError.noSuchObject) {
        try await service.unlock([login + "/search1"], for: ":1.1")
      }
    }

    @Test func `refuses a prompt for paths of more than 1 MiB`() async throws {
      let service = try SecretService(
        Lockable().functions(asking: Asking(canAsk: { true }, passphrase: { _ in .dismissed })),
        machine: [])
      service.isPresent = { _ in true }
      #expect(try await service.search([:], for: ":1.1").locked.count == 1)
      let path = login + "/" + String(repeating: "i", count: 1000)
      await #expect(throws: ServiceError.self) {
        try await service.unlock(Array(repeating: path, count: 1100), for: ":1.1")
      }
      #expect(service.prompts.isEmpty)
    }

    @Test(arguments: [Duration.zero, .seconds(1_000_000)])
    func `relies for some time on what it knows of a lock, and then asks kistd`(
      trust: Duration
    ) async throws {
      let lockable = Lockable()
      lockable.isLocked.store(false, ordering: .relaxed)
      let service = try SecretService(lockable.functions(), machine: [])
      service.openTrust = trust
      try await service.readAll()
      let found = try await service.search(["service": "example.org"], for: ":1.1").unlocked
      #expect(found.count == 1)
      lockable.isLocked.store(true, ordering: .relaxed)
      if trust == .zero {
        await #expect(throws: ServiceError.isLocked) {
          try await service.search(["service": "example.org"], for: ":1.1")
        }
      } else {
        let again = try await service.search(["service": "example.org"], for: ":1.1").unlocked
        #expect(again == found)
      }
      let session = try service.openSession(.plain, for: ":1.1").path
      let path = try #require(service.object(at: found[0]))
      await #expect(throws: ServiceError.isLocked) {
        try await service.secret(of: path, in: session, for: ":1.1")
      }
    }

    @Test func `never encrypts two names with the same number`() async throws {
      let storage = OpenStorage.inMemory()
      try await storage.credentials.save(.sample())
      let service = try SecretService(.init(storage), machine: [])
      var last: UInt64 = 0
      for _ in 0..<3 {
        try await service.readAll()
        #expect(service.index.version(of: .sample) > last)
        last = service.index.version(of: .sample)
        service.noteLocked(.locked("the storage is locked"))
      }
    }

    @Test
    func `reports collections that other clients added and removed before all items were read`()
      async throws
    {
      let storage = OpenStorage.inMemory()
      let service = try SecretService(.init(storage), machine: [])
      var signals: [ServiceSignal] = []
      service.emit = { signals.append($0) }
      let record = Collection.recordKey("c")
      let path = ObjectPath.collection("c").path
      func list(_ identifiers: [String]) -> ServiceSignal {
        .properties(
          path: root, interface: InterfaceName.service,
          [Property("Collections", .paths(identifiers.map { ObjectPath.collection($0).path }))])
      }
      try await storage.credentials.save(
        .sample(record, label: "c", attributes: ["kist:record": "collection"]))
      try await storage.credentials.save(.sample(attributes: ["kist:collection": "c"]))
      try await service.readAll()
      #expect(
        signals == [.collection(.created, path: path), list(["login", "session", "c"])])
      let item = try #require(service.paths(in: "c").first)
      signals = []
      try await service.readAll()
      #expect(signals.isEmpty)
      try await storage.credentials.delete(record)
      try await storage.credentials.delete(.sample)
      try await service.readAll()
      #expect(
        signals == [
          .item(.deleted, collection: path, path: item), .collection(.deleted, path: path),
          list(["login", "session"]),
        ])
    }

    @Test func `reports no change of a renamed login collection when all items are read again`()
      async throws
    {
      let storage = OpenStorage.inMemory()
      let service = try SecretService(.init(storage), machine: [])
      try await storage.credentials.save(
        .sample(
          Collection.recordKey(Collection.login), label: "Mine",
          attributes: ["kist:record": "collection"]))
      try await service.readAll()
      #expect(try await service.label(ofCollection: Collection.login) == "Mine")
      var signals: [ServiceSignal] = []
      service.emit = { signals.append($0) }
      try await service.readAll()
      #expect(signals.isEmpty)
    }

    @Test func `notes the time of each change in the collection session`() async throws {
      let seconds = Atomic<Int64>(1_000_000)
      var functions = SecretService.Functions(.inMemory())
      functions.now = {
        Timestamp(secondsSinceEpoch: seconds.add(1, ordering: .relaxed).newValue)!
      }
      let service = try SecretService(functions, machine: [])
      let session = try service.openSession(.plain, for: ":1.1").path
      func modified() async throws -> PropertyValue? {
        try await service.properties(ofCollection: Collection.session)
          .first { $0.name == "Modified" }?.value
      }
      let sent = SentSecret(
        session: session, parameters: [], value: Secret(utf8: "x"), contentType: "text/plain")
      let item = try await service.create(
        NewItem(label: "", attributes: [:], secret: sent, replacesExact: false),
        in: Collection.session, for: ":1.1")
      let path = try #require(service.object(at: item))
      for change in 0..<3 {
        switch change {
        case 1: try await service.setLabel("label", of: path)
        case 2: try await service.deleteItem(path)
        default: break
        }
        let now = UInt64(seconds.load(ordering: .relaxed))
        #expect(try await modified() == .seconds(now))
      }
    }
  }
#endif
