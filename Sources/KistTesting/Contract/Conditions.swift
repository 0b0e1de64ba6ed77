import KistCore
import Testing

extension UserStorageContract {
  static let conditions: [Rule] = [
    Rule("a save with the current revision succeeds") { storage in
      let first = try await storage.save(.sample(secret: "first"))
      let second = try await storage.save(
        .sample(secret: "second"), if: .ifRevision(first.revision))
      #expect(try await storage.load(.sample) == Credential(second, "second"))
    },
    Rule("a save with another revision is a conflict and changes nothing") { storage in
      let first = try await storage.save(.sample(secret: "first"))
      let second = try await storage.save(.sample(secret: "second", label: "kept"))
      for expected in [first.revision, Revision(rawValue: "never.1")] {
        let error = await expectUnchanged(.conflict) {
          try await storage.save(.sample(secret: "third"), if: .ifRevision(expected))
        }
        #expect(error?.current == .revision(second.revision))
      }
      #expect(try await storage.load(.sample) == Credential(second, "second"))
    },
    Rule("a save with the revision of another credential is a conflict") { storage in
      let other = try await storage.save(.sample(.init(service: "other")))
      let own = try await storage.save(.sample())
      let error = await expectUnchanged(.conflict) {
        try await storage.save(.sample(), if: .ifRevision(other.revision))
      }
      #expect(error?.current == .revision(own.revision))
    },
    Rule("a save with a revision is a conflict if the credential is absent") { storage in
      let saved = try await storage.save(.sample())
      try await storage.delete(.sample)
      let error = await expectUnchanged(.conflict) {
        try await storage.save(.sample(), if: .ifRevision(saved.revision))
      }
      #expect(error?.current == .absent)
      await expect(.notFound) { try await storage.load(.sample) }
    },
    Rule("a save with ifAbsent succeeds only if the credential is absent") { storage in
      let first = try await storage.save(.sample(secret: "first"), if: .ifAbsent)
      let error = await expectUnchanged(.conflict) {
        try await storage.save(.sample(secret: "second"), if: .ifAbsent)
      }
      #expect(error?.current == .revision(first.revision))
      #expect(try await storage.load(.sample).secret == Secret(utf8: "first"))
      try await storage.delete(.sample)
      try await storage.save(.sample(secret: "third"), if: .ifAbsent)
      #expect(try await storage.load(.sample).secret == Secret(utf8: "third"))
    },
    Rule("of 50 concurrent saves with the same revision, exactly one succeeds") {
      storage, fixture in
      var current = try await storage.save(.sample(secret: "start")).revision
      for _ in 0..<4 { current = try await race(50, in: fixture, if: .ifRevision(current)) }
    },
    Rule("of 50 concurrent saves with ifAbsent, exactly one succeeds") { storage, fixture in
      for _ in 0..<4 {
        let winner = try await race(50, in: fixture, if: .ifAbsent)
        #expect(try await storage.delete(DeleteRequest(key: .sample, ifRevision: winner)))
      }
    },
    Rule("no revision is used twice, even after deletes and saves of equal bytes") { storage in
      var used: [Revision] = []
      let keys = [CredentialKey.sample, CredentialKey(service: "other")]
      for _ in 0..<8 {
        for key in keys {
          used.append(try await storage.save(.sample(key)).revision)
          used.append(try await storage.save(.sample(key)).revision)
          try await storage.delete(key)
        }
      }
      #expect(Set(used).count == used.count)
    },
    Rule("a save of equal bytes creates a new revision") { storage in
      let first = try await storage.save(.sample())
      let second = try await storage.save(.sample())
      #expect(first.revision != second.revision)
      #expect(try await storage.load(.sample).summary.revision == second.revision)
    },
    Rule("a revision stays the same until its credential changes") { storage, fixture in
      let saved = try await storage.save(.sample())
      for number in 0..<5 {
        try await storage.save(.sample(.init(service: "other", account: "\(number)")))
        try await storage.delete(.init(service: "other", account: "\(number)"))
      }
      fixture.clock.advance(bySeconds: 3600)
      #expect(try await storage.load(.sample).summary == saved)
      #expect(try await storage.findAll() == [saved])
    },
  ]
}

/// Saves the same key from several writers at once, expects exactly one success, and returns its
/// revision.
private func race(
  _ writers: Int, in fixture: UserStorageContract.Fixture, if condition: Condition
) async throws -> Revision {
  let handles = [
    fixture.storage, try await fixture.anotherHandle(), try await fixture.anotherHandle(),
  ]
  let results = await withTaskGroup(of: Result<Credential, StorageError>.self) { group in
    for writer in 0..<writers {
      let storage = handles[writer % handles.count]
      group.addTask {
        do throws(StorageError) {
          let saved = try await storage.save(.sample(secret: "writer \(writer)"), if: condition)
          return .success(Credential(saved, "writer \(writer)"))
        } catch { return .failure(error) }
      }
    }
    return await group.reduce(into: []) { $0.append($1) }
  }
  let winners = results.compactMap { try? $0.get() }
  #expect(winners.count == 1)
  let winner = try #require(winners.first)
  for case .failure(let error) in results {
    #expect(error.code == .conflict)
    #expect(error.outcome == .unchanged)
    #expect(error.current == .revision(winner.summary.revision))
  }
  #expect(try await fixture.storage.load(.sample) == winner)
  return winner.summary.revision
}

extension UserStorageContract {
  static let expiry: [Rule] = [
    Rule("a load throws expired from exactly expiresAt on") { storage, fixture in
      let expiresAt = fixture.clock.now().advanced(bySeconds: 60)
      try await storage.save(.sample(expiresAt: expiresAt))
      fixture.clock.advance(bySeconds: 59)
      #expect(try await storage.load(.sample).secret == Secret(utf8: "correct horse"))
      for step: Int64 in [1, 1, 1_000_000_000] {
        fixture.clock.advance(bySeconds: step)
        await expect(.expired) { try await storage.load(.sample) }
      }
    },
    Rule("a load returns an expired credential if the request allows it") { storage, fixture in
      let saved = try await saveExpired(in: fixture)
      let loaded = try await storage.load(LoadRequest(key: .sample, allowExpired: true))
      #expect(loaded == Credential(saved, "correct horse"))
    },
    Rule("a find lists an expired credential") { storage, fixture in
      let saved = try await saveExpired(in: fixture)
      #expect(try await storage.findAll() == [saved])
    },
    Rule("a delete removes an expired credential") { storage, fixture in
      let saved = try await saveExpired(in: fixture)
      let request = DeleteRequest(key: .sample, ifRevision: saved.revision)
      #expect(try await storage.delete(request))
      await expect(.notFound) { try await storage.load(.sample) }
    },
    Rule("conditions treat an expired credential as present") { storage, fixture in
      let saved = try await saveExpired(in: fixture)
      let error = await expectUnchanged(.conflict) {
        try await storage.save(.sample(), if: .ifAbsent)
      }
      #expect(error?.current == .revision(saved.revision))
      try await storage.save(.sample(secret: "new"), if: .ifRevision(saved.revision))
      #expect(try await storage.load(.sample).secret == Secret(utf8: "new"))
    },
    Rule("a save without an expiry removes the earlier expiry") { storage, fixture in
      try await saveExpired(in: fixture)
      try await storage.save(.sample(secret: "new"))
      #expect(try await storage.load(.sample).secret == Secret(utf8: "new"))
    },
    Rule("expiry times from the first to the last year come back unchanged") { storage in
      for moment in [Timestamp.bounds.lowerBound, -1, 0, 1, Timestamp.bounds.upperBound] {
        let expiresAt = try #require(Timestamp(secondsSinceEpoch: moment))
        try await storage.save(.sample(expiresAt: expiresAt))
        #expect(try await storage.findAll().map(\.expiresAt) == [expiresAt])
      }
    },
  ]
}

/// Saves a credential that expires in a second, and lets the second pass.
@discardableResult
private func saveExpired(
  in fixture: UserStorageContract.Fixture
) async throws -> CredentialSummary {
  defer { fixture.clock.advance(bySeconds: 1) }
  let expiresAt = fixture.clock.now().advanced(bySeconds: 1)
  return try await fixture.storage.save(.sample(expiresAt: expiresAt))
}
