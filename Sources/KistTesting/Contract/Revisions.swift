import KistCore
import Testing

extension UserStorageContract {
  static let revisions: [Rule] = [
    Rule("no revision is used twice, even after deletes and saves of equal bytes") { fixture in
      var used: [Revision] = []
      let keys = [CredentialKey.sample, CredentialKey(service: "other")]
      for _ in 0..<8 {
        for key in keys {
          used.append(try await fixture.storage.save(.sample(key)).revision)
          used.append(try await fixture.storage.save(.sample(key)).revision)
          try await fixture.storage.delete(key)
        }
      }
      #expect(Set(used).count == used.count)
    },
    Rule("a save of equal bytes creates a new revision") { fixture in
      let first = try await fixture.storage.save(.sample())
      let second = try await fixture.storage.save(.sample())
      #expect(first.revision != second.revision)
      #expect(try await fixture.storage.load(.sample).summary.revision == second.revision)
    },
    Rule("a revision stays the same until its credential changes") { fixture in
      let saved = try await fixture.storage.save(.sample())
      for number in 0..<5 {
        try await fixture.storage.save(.sample(.init(service: "other", account: "\(number)")))
        try await fixture.storage.delete(.init(service: "other", account: "\(number)"))
      }
      fixture.clock.advance(bySeconds: 3600)
      #expect(try await fixture.storage.load(.sample).summary == saved)
      #expect(try await fixture.storage.findAll() == [saved])
    },
  ]
}
