import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The durability of changes` {
  let store = try! TestStore()

  @Test func `a copy of the files taken after any answer opens with the answered changes`()
    async throws
  {
    let opened = try await store.open()
    var expected: [CredentialKey: Credential] = [:]
    for round in 0..<30 {
      let key = CredentialKey(service: "service", account: String(round % 7))
      if round % 5 == 4 {
        try await opened.credentials.delete(key)
        expected[key] = nil
      } else {
        let secret = Secret(utf8: String(repeating: "secret \(round) ", count: 1 + round * 20))
        let summary = try await opened.credentials.save(NewCredential(key: key, secret: secret))
        expected[key] = Credential(summary: summary, secret: secret)
      }
      let copy = try TestStore()
      try FileManager.default.copyItem(
        atPath: store.directory("data"), toPath: copy.directory("data"))
      let reopened = try await copy.open(.keyFile(path: store.keyPath))
      let found = try await reopened.credentials.findAll()
      #expect(found.map(\.key).sorted() == expected.keys.sorted())
      for (key, credential) in expected {
        #expect(try await reopened.credentials.load(key) == credential)
      }
      #expect(try await reopened.access.status().integrity == .ok)
      await reopened.close()
    }
    await opened.close()
  }

  @Test func `no revision occurs twice, across restarts, deletes and repeated saves`() async throws
  {
    var revisions: [Revision] = []
    for _ in 0..<3 {
      let opened = try await store.open()
      for _ in 0..<3 {
        revisions.append(try await opened.credentials.save(.sample()).revision)
        try await opened.credentials.delete(.sample)
      }
      await opened.close()
    }
    #expect(Set(revisions).count == 9)
    let epochs = Set(revisions.map { $0.rawValue.prefix { $0 != "." } })
    #expect(epochs.count == 1)
  }

  @Test func `times stay across a restart`() async throws {
    try await store.fill([.sample()])
    store.clock.advance(bySeconds: 60)
    try await store.fill([.sample(secret: "new")])
    let opened = try await store.open()
    let summary = try await opened.credentials.load(.sample).summary
    #expect(summary.createdAt == .sample)
    #expect(summary.modifiedAt == store.clock.now())
    await opened.close()
  }

  @Test func `a cancelled save is carried out`() async throws {
    let opened = try await store.open()
    let saving = Task { try await opened.credentials.save(.sample()) }
    saving.cancel()
    let summary = try await saving.value
    #expect(try await opened.credentials.load(.sample).summary == summary)
    await opened.close()
  }

  @Test func `saves while the store is being closed are carried out or refused, never lost`()
    async throws
  {
    let opened = try await store.open()
    let saved = await withTaskGroup(of: CredentialKey?.self) { group -> [CredentialKey] in
      for number in 0..<100 {
        group.addTask {
          let key = CredentialKey(service: "service", account: String(number))
          return (try? await opened.credentials.save(.sample(key))) == nil ? nil : key
        }
      }
      group.addTask {
        await opened.close()
        return nil
      }
      return await group.reduce(into: []) { if let key = $1 { $0.append(key) } }
    }
    #expect(try store.names() == ["credentials.db", "credentials.db.lock"])
    let reopened = try await store.open()
    #expect(try await reopened.credentials.findAll().map(\.key).sorted() == saved.sorted())
    await reopened.close()
  }

  @Test func `each load sees the save before it, and the log stays small between them`()
    async throws
  {
    let opened = try await store.open()
    var largest = 0
    for number in 0..<10_000 {
      let secret = Secret(utf8: "secret \(number)")
      let summary = try await opened.credentials.save(NewCredential(key: .sample, secret: secret))
      let loaded = try await opened.credentials.load(.sample)
      guard loaded == Credential(summary: summary, secret: secret) else {
        Issue.record("load \(number) did not see the save before it")
        break
      }
      if number % 100 == 0 { largest = max(largest, try logSize()) }
    }
    // SQLite begins it anew after 1,000 pages; 20,000 were written.
    #expect(largest < 8 << 20)
    await opened.close()
  }

  @Test func `the log is written over and over while the store serves`() async throws {
    let opened = try await store.open()
    let secret = Secret(copying: [UInt8](repeating: 7, count: 100_000))
    for _ in 0..<200 {
      try await opened.credentials.save(NewCredential(key: .sample, secret: secret))
    }
    // 20 MB were saved; SQLite begins anew after 1,000 pages.
    #expect(try logSize() < 8 << 20)
    await opened.close()
  }

  private func logSize() throws -> Int {
    let log = try FileManager.default.attributesOfItem(atPath: store.path + "-wal")
    return try #require(log[.size] as? Int)
  }
}
