#if SecretService
  import KistBus
  import KistCore
  @testable import KistSecretService
  import KistTesting
  import Testing

  @MainActor @Suite(.timeLimit(.minutes(10))) struct `The record of a collection` {
    private let storage = OpenStorage.inMemory()

    /// Makes a service with a collection that has one item, and returns its identifier.
    private func withCollection() async throws -> (SecretService, collection: String) {
      let service = try SecretService(.init(storage), machine: [])
      try await service.readAll()
      let path = try await service.createCollection(label: "Work", alias: "")
      guard case .collection(let collection)? = service.object(at: path) else {
        throw ServiceError.noSuchObject
      }
      try await storage.credentials.save(
        .sample(attributes: ["kist:item": "1", "kist:collection": collection]))
      try await service.readAll()
      return (service, collection)
    }

    @Test func `is not overwritten if another client replaced it, and the collection remains`()
      async throws
    {
      let (service, collection) = try await withCollection()
      let key = Collection.recordKey(collection)
      try await storage.credentials.save(.sample(key, secret: "mine", label: "Foreign"))
      for isRestarted in [false, true] {
        let service =
          isRestarted ? try SecretService(.init(storage), machine: []) : service
        if isRestarted { try await service.readAll() }
        let path = ObjectPath.collection(collection).path
        for _ in 0..<2 {
          await #expect(throws: ServiceError.foreignRecord) {
            try await service.setLabel("Play", ofCollection: collection)
          }
          await #expect(throws: ServiceError.foreignRecord) {
            try await service.setAlias("default", to: path)
          }
          await #expect(throws: ServiceError.foreignRecord) {
            _ = try await service.deleteCollection(collection, for: ":1.1")
          }
        }
        #expect(try await service.knownCollections().contains(path))
        #expect(try await service.label(ofCollection: collection) == "Foreign")
        #expect(service.paths(in: collection).count == 1)
        // The credential in place of the record is not an item.
        #expect(service.paths(in: Collection.login).isEmpty)
      }
      #expect(try await storage.credentials.load(key).secret == Secret(utf8: "mine"))
    }

    @Test func `of the login collection is not overwritten either`() async throws {
      let (service, _) = try await withCollection()
      try await service.setLabel("Mine", ofCollection: Collection.login)
      try await service.setLabel("Ours", ofCollection: Collection.login)
      let key = Collection.recordKey(Collection.login)
      #expect(try await storage.credentials.load(key).summary.label == "Ours")
      try await storage.credentials.save(.sample(key, secret: "mine"))
      await #expect(throws: ServiceError.foreignRecord) {
        try await service.setLabel("Theirs", ofCollection: Collection.login)
      }
      #expect(try await storage.credentials.load(key).secret == Secret(utf8: "mine"))
    }

    @Test func `keeps what another client added to it`() async throws {
      let (service, collection) = try await withCollection()
      let key = Collection.recordKey(collection)
      try await storage.credentials.save(
        .sample(
          key, secret: "mine", label: "Work", attributes: ["kist:record": "collection", "a": "b"]))
      try await service.setLabel("Play", ofCollection: collection)
      try await service.setAlias("default", to: ObjectPath.collection(collection).path)
      let record = try await storage.credentials.load(key)
      #expect(record.secret == Secret(utf8: "mine"))
      #expect(record.summary.label == "Play")
      #expect(record.summary.attributes["a"] == "b")
      #expect(service.object(at: ObjectPath.root + "/aliases/default") == .collection(collection))
      try await service.setAlias("default", to: ObjectPath.none)
      #expect(service.object(at: ObjectPath.root + "/aliases/default") == .collection("login"))
    }

    @Test func `that another client deleted is not made again`() async throws {
      let (service, collection) = try await withCollection()
      try await storage.credentials.delete(Collection.recordKey(collection))
      await #expect(throws: ServiceError.noSuchObject) {
        try await service.setLabel("Play", ofCollection: collection)
      }
      #expect(
        try await !service.knownCollections().contains(ObjectPath.collection(collection).path))
    }
  }
#endif
