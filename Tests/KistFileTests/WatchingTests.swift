import KistCore
import KistFile
import KistSodium
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `An encrypted file that is watched` {
  private func withStore(
    passphrase: String? = nil, _ body: (OpenStorage) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let store = try await EncryptedFile.open(
      .init(
        path: directory("credentials.db"),
        keySource: passphrase.map { .passphrase(Secret(utf8: $0)) }
          ?? .keyFile(path: directory("key")), passphraseCost: .least))
    try await body(store)
    await store.close()
  }

  @Test func `reports its position, and no change before it`() async throws {
    try await withStore { store in
      _ = try await store.credentials.save(.sample())
      let second = try await store.credentials.save(.sample())
      let changes = try await store.watch()
      #expect(changes.position == second.revision)
      let third = try await store.credentials.save(.sample())
      let iterator = changes.makeAsyncIterator()
      #expect(try await iterator.next() == .saved(.sample, third.revision))
      #expect(try await store.credentials.delete(.sample))
      let deleted = try await iterator.next()
      #expect(deleted?.revision?.isLater(than: third.revision) == true)
      #expect(try await store.watch().position == deleted?.revision)
    }
  }

  @Test func `reports every change of many at once, in the order of revisions`() async throws {
    try await withStore { store in
      let changes = try await store.watch()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in 0..<20 {
          group.addTask {
            for number in 0..<20 {
              let key = CredentialKey(service: "\(number % 4)", account: "\(writer % 3)")
              if number % 5 == 4 {
                try await store.credentials.delete(key)
              } else {
                try await store.credentials.save(.sample(key))
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let last = try await store.credentials.save(.sample())
      var told: [Revision] = []
      var state: [CredentialKey: Revision] = [:]
      let iterator = changes.makeAsyncIterator()
      while told.last != last.revision {
        let change = try #require(try await iterator.next())
        told.append(try #require(change.revision))
        if case .saved(let key, let revision) = change { state[key] = revision }
        if case .deleted(let key, _) = change { state[key] = nil }
      }
      #expect(zip(told, told.dropFirst()).allSatisfy { $1.isLater(than: $0) == true })
      let found = try await store.credentials.findAll().map { ($0.key, $0.revision) }
      #expect(Dictionary(uniqueKeysWithValues: found) == state)
    }
  }

  @Test func `can be watched while it is locked, and sends a reset when it is unlocked`()
    async throws
  {
    try await withStore(passphrase: "correct horse") { store in
      let before = try await store.watch().makeAsyncIterator()
      let saved = try await store.credentials.save(.sample())
      #expect(try await store.access.lock().isLocked)
      let locked = try await store.watch()
      #expect(locked.position == nil)
      await expect(.locked) { try await store.credentials.save(.sample()) }
      _ = try await store.access.unlock(Secret(utf8: "correct horse"))
      // It is open already, and tells of nothing.
      _ = try await store.access.unlock(Secret(utf8: "correct horse"))
      let later = try await store.credentials.save(.sample())
      for expected in [
        .saved(.sample, saved.revision), .reset, .saved(.sample, later.revision),
      ] as [CredentialChange] {
        #expect(try await before.next() == expected)
      }
      let iterator = locked.makeAsyncIterator()
      #expect(try await iterator.next() == .reset)
      #expect(try await iterator.next() == .saved(.sample, later.revision))
    }
  }

  @Test func `reports the answered changes before it is closed, and then its end`() async throws {
    try await withStore { store in
      let changes = try await store.watch()
      let saved = try await store.credentials.save(.sample())
      await store.close()
      let iterator = changes.makeAsyncIterator()
      #expect(try await iterator.next() == .saved(.sample, saved.revision))
      await expect(.unavailable) { try await iterator.next() }
      await expect(.unavailable) { try await store.watch() }
    }
  }
}
