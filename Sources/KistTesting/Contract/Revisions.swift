import KistCore
import Testing

extension UserStorageContract {
  static let revisions: [Rule] = [
    Rule("no revision is given twice, across keys, equal bytes, delete and re-save") { fixture in
      var given: [Revision] = []
      let keys = [CredentialKey.sample, CredentialKey(service: "other")]
      for _ in 0..<8 {
        for key in keys {
          given.append(try await fixture.storage.save(.sample(key)).revision)
          given.append(try await fixture.storage.save(.sample(key)).revision)
          try await fixture.storage.delete(key)
        }
      }
      #expect(Set(given).count == given.count)
    },
    Rule("a save of equal bytes makes a new revision") { fixture in
      let first = try await fixture.storage.save(.sample())
      let second = try await fixture.storage.save(.sample())
      #expect(first.revision != second.revision)
      #expect(try await fixture.storage.load(.sample).summary.revision == second.revision)
    },
    Rule("a revision stays until its credential is changed") { fixture in
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
