#if SecretService
  import KistCore
  @testable import KistSecretService
  import KistTesting
  import Testing

  @MainActor @Suite(.timeLimit(.minutes(10))) struct `While the items are read, the service` {
    private static let attributes: Attributes = ["service": "example.org"]

    /// The numbers of items that searches found; `nil` for a search that failed.
    @MainActor private final class Searches {
      var found: [Int?] = []
      var second: Task<Void, Never>?

      func search(_ service: SecretService, for client: String) async {
        found.append(try? await service.search(attributes, for: client).unlocked.count)
      }
    }

    @Test func `finds nothing in an index that is not complete, even after a failed reading`()
      async throws
    {
      let storage = OpenStorage.inMemory()
      try await storage.credentials.save(.sample())
      let isAway = Flag(true)
      var functions = SecretService.Functions(storage)
      functions.storage.find = { query throws(StorageError) in
        if isAway.value {
          isAway.value = false
          throw StorageError(.unavailable, "kistd is not running")
        }
        // The search that waited for the first reading continues meanwhile.
        for _ in 0..<100 { await Task.yield() }
        return try await storage.credentials.find(query)
      }
      let service = try SecretService(functions, machine: [])
      let searches = Searches()
      let first = Task.immediate { await searches.search(service, for: ":1.1") }
      service.whenLost = { _ in
        searches.second = Task.immediate { await searches.search(service, for: ":1.2") }
      }
      let following = Task.immediate { await service.follow() }
      await first.value
      await searches.second?.value
      #expect(searches.found == [nil, 1])
      following.cancel()
      service.wake()
      await following.value
    }

    @Test func `opens the storage with its key file once, for all calls at the same time`()
      async throws
    {
      let storage = OpenStorage.inMemory()
      try await storage.credentials.save(.sample())
      let (isLocked, isOpening) = (Flag(true), Flag(false))
      var functions = SecretService.Functions(storage)
      let status: @Sendable () -> StorageStatus = {
        StorageStatus(
          storage: "memory", isLocked: isLocked.value, unlocksWith: .keyFile,
          reopensAtRestart: false, durability: .memory, keyProtection: "none")
      }
      functions.access.status = { status() }
      functions.access.unlock = { _ throws(StorageError) in
        // As kistd does.
        if isOpening.value { throw StorageError(.busy, "another passphrase is being tried") }
        isOpening.value = true
        for _ in 0..<100 { await Task.yield() }
        isOpening.value = false
        isLocked.value = false
        return status()
      }
      functions.storage.load = { request throws(StorageError) in
        if isLocked.value { throw .locked("the storage is locked") }
        return try await storage.credentials.load(request)
      }
      let service = try SecretService(functions, machine: [])
      try await service.readAll()
      let session = try service.openSession(.plain, for: ":1.1").path
      let item = try await service.search(Self.attributes, for: ":1.1").unlocked[0]
      let path = try #require(service.object(at: item))
      isLocked.value = true
      let calls = (0..<8).map { _ in
        Task.immediate { try await service.secret(of: path, in: session, for: ":1.1").value }
      }
      for call in calls { #expect(try await call.value == Secret(utf8: "correct horse")) }
    }
  }
#endif
