import KistCore
import Testing

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
