import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Watchers of a storage` {
  private let watchers = Watchers()

  private func watch(_ service: String? = nil) throws -> CredentialChanges {
    try watchers.watch(WatchRequest(service: service)) { nil }
  }

  /// The changes that are there, up to a mark that is put behind them.
  private func reported(_ changes: CredentialChanges) async throws -> [CredentialChange] {
    let mark = CredentialChange.deleted(CredentialKey(service: "mark"), nil)
    watchers.tell([mark])
    var reported: [CredentialChange] = []
    let iterator = changes.makeAsyncIterator()
    while let change = try await iterator.next(), change != mark { reported.append(change) }
    return reported
  }

  @Test func `keep at most 1,024 pending changes`() async throws {
    let changes = try watch()
    let many = (1...1023).map(CredentialChange.sample)
    watchers.tell(many)
    #expect(try await reported(changes) == many)
    for count in [1024, 1025, 2000, 2048, 2049, 10_000] {
      watchers.tell((1...count).map(CredentialChange.sample))
      let reported = try await reported(changes)
      #expect(reported.first == .reset)
      #expect(reported.count <= 1024)
      // Changes after the reset are reported unchanged.
      let later = (1...count).suffix(reported.count - 1).map(CredentialChange.sample)
      #expect(reported.dropFirst() == later[...])
    }
  }

  @Test func `get one reset, however many reasons there were`() async throws {
    let changes = try watch()
    watchers.tell([.reset])
    watchers.tell([.reset, .reset, .sample(1), .reset, .reset])
    #expect(try await reported(changes) == [.reset, .sample(1), .reset])
    watchers.tell([.reset])
    #expect(try await reported(changes) == [.reset])
  }

  @Test func `get the remaining changes, and then the reason for the end`() async throws {
    let changes = try watch()
    watchers.tell([.sample(1)])
    watchers.end(.notFound)
    let iterator = changes.makeAsyncIterator()
    #expect(try await iterator.next() == .sample(1))
    for _ in 0..<2 {
      await #expect(throws: StorageError.notFound) { try await iterator.next() }
    }
    #expect(throws: StorageError.notFound) { try watch() }
  }

  @Test func `wait for changes and for the end`() async throws {
    let changes = try watch()
    let waiting = Task { try await changes.makeAsyncIterator().next() }
    watchers.tell([.sample(1)])
    #expect(try await waiting.value == .sample(1))
    let later = Task { try await changes.makeAsyncIterator().next() }
    watchers.end(.notFound)
    await #expect(throws: StorageError.notFound) { try await later.value }
  }

  @Test func `get the changes of their service, and every reset`() async throws {
    let changes = try watch("sample 1")
    watchers.tell([.sample(1), .sample(2), .reset, .sample(1)])
    watchers.end(.notFound)
    let iterator = changes.makeAsyncIterator()
    for expected in [CredentialChange.sample(1), .reset, .sample(1)] {
      #expect(try await iterator.next() == expected)
    }
  }

  @Test func `end when they are released`() throws {
    #expect(!watchers.areThere)
    var first: CredentialChanges? = try watch()
    var second = try watch().makeAsyncIterator() as CredentialChanges.Iterator?
    #expect(watchers.areThere)
    first = nil
    #expect(watchers.areThere)
    second = nil
    #expect(!watchers.areThere)
    #expect(throws: StorageError.self) { try watch("") }
    #expect(!watchers.areThere)
    _ = (first, second)
  }

  @Test func `get the position of the storage`() async throws {
    let storage = OpenStorage.inMemory()
    let saved = try await storage.credentials.save(.sample())
    #expect(try await storage.watch().position == saved.revision)
    let changes = try await storage.watch()
    try await storage.credentials.delete(.sample)
    let deleted = try await changes.makeAsyncIterator().next()
    #expect(try await storage.watch().position == deleted?.revision)
    await storage.close()
    await expect(.unavailable) { try await storage.watch() }
    await expect(.unavailable) { try await changes.makeAsyncIterator().next() }
  }
}

extension CredentialChange {
  fileprivate static func sample(_ number: Int) -> CredentialChange {
    .saved(
      CredentialKey(service: "sample \(number)"), Revision(epoch: "a", sequence: UInt64(number)))
  }
}
