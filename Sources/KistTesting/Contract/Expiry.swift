import KistCore
import Testing

extension UserStorageContract {
  static let expiry: [Rule] = [
    Rule("a load throws expired from exactly expiresAt on") { fixture in
      try await saveExpiring(in: fixture, inSeconds: 60)
      fixture.clock.advance(bySeconds: 59)
      #expect(try await fixture.storage.load(.sample).secret == Secret(utf8: "correct horse"))
      for step: Int64 in [1, 1, 1_000_000_000] {
        fixture.clock.advance(bySeconds: step)
        await expect(.expired) { try await fixture.storage.load(.sample) }
      }
    },
    Rule("a load returns an expired credential if the request allows it") { fixture in
      let saved = try await saveExpiring(in: fixture, inSeconds: 1)
      fixture.clock.advance(bySeconds: 1)
      let loaded = try await fixture.storage.load(LoadRequest(key: .sample, allowExpired: true))
      #expect(loaded == Credential(summary: saved, secret: Secret(utf8: "correct horse")))
    },
    Rule("a find lists an expired credential") { fixture in
      let saved = try await saveExpiring(in: fixture, inSeconds: 1)
      fixture.clock.advance(bySeconds: 1)
      #expect(try await fixture.storage.findAll() == [saved])
    },
    Rule("a delete removes an expired credential") { fixture in
      let saved = try await saveExpiring(in: fixture, inSeconds: 1)
      fixture.clock.advance(bySeconds: 1)
      let request = DeleteRequest(key: .sample, ifRevision: saved.revision)
      #expect(try await fixture.storage.delete(request))
      await expect(.notFound) { try await fixture.storage.load(.sample) }
    },
    Rule("conditions treat an expired credential as present") { fixture in
      let saved = try await saveExpiring(in: fixture, inSeconds: 1)
      fixture.clock.advance(bySeconds: 1)
      let error = await expectUnchanged(.conflict) {
        try await fixture.storage.save(.sample(), if: .ifAbsent)
      }
      #expect(error?.current == .revision(saved.revision))
      try await fixture.storage.save(.sample(secret: "new"), if: .ifRevision(saved.revision))
      #expect(try await fixture.storage.load(.sample).secret == Secret(utf8: "new"))
    },
    Rule("a save without an expiry removes the earlier expiry") { fixture in
      try await saveExpiring(in: fixture, inSeconds: 1)
      fixture.clock.advance(bySeconds: 1)
      try await fixture.storage.save(.sample(secret: "new"))
      #expect(try await fixture.storage.load(.sample).secret == Secret(utf8: "new"))
    },
    Rule("expiry times from the first to the last year come back unchanged") { fixture in
      for moment in [Timestamp.bounds.lowerBound, -1, 0, 1, Timestamp.bounds.upperBound] {
        let expiresAt = try #require(Timestamp(secondsSinceEpoch: moment))
        try await fixture.storage.save(.sample(expiresAt: expiresAt))
        #expect(try await fixture.storage.findAll().map(\.expiresAt) == [expiresAt])
      }
    },
  ]
}

@discardableResult
private func saveExpiring(
  in fixture: UserStorageContract.Fixture, inSeconds seconds: Int64
) async throws -> CredentialSummary {
  let expiresAt = fixture.clock.now().advanced(bySeconds: seconds)
  return try await fixture.storage.save(.sample(expiresAt: expiresAt))
}
