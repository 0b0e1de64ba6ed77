import KistCore
import Testing

extension UserStorageContract {
  static let deleting: [Rule] = [
    Rule("a load of a credential that was never saved throws notFound") { fixture in
      await expect(.notFound) { try await fixture.storage.load(.sample) }
      await expect(.notFound) {
        try await fixture.storage.load(LoadRequest(key: .sample, allowExpired: true))
      }
    },
    Rule("a delete returns true only if the credential is stored") { fixture in
      #expect(try await fixture.storage.delete(.sample) == false)
      try await fixture.storage.save(.sample())
      #expect(try await fixture.storage.delete(.sample))
      #expect(try await fixture.storage.delete(.sample) == false)
      await expect(.notFound) { try await fixture.storage.load(.sample) }
      #expect(try await fixture.storage.findAll().isEmpty)
    },
    Rule("a delete leaves all other credentials unchanged") { fixture in
      let others = ["bob", "carol", ""].map {
        CredentialKey(service: CredentialKey.sample.service, account: $0)
      }
      for key in others + [.sample] { try await fixture.storage.save(.sample(key)) }
      try await fixture.storage.delete(.sample)
      #expect(try await fixture.storage.findAll().map(\.key).sorted() == others.sorted())
    },
    Rule("a delete with the current revision succeeds") { fixture in
      let saved = try await fixture.storage.save(.sample())
      let request = DeleteRequest(key: .sample, ifRevision: saved.revision)
      #expect(try await fixture.storage.delete(request))
      await expect(.notFound) { try await fixture.storage.load(.sample) }
    },
    Rule("a delete with another revision is a conflict and deletes nothing") { fixture in
      let first = try await fixture.storage.save(.sample())
      let second = try await fixture.storage.save(.sample())
      for expected in [first.revision, Revision(rawValue: "never.1")] {
        let error = await expectUnchanged(.conflict) {
          try await fixture.storage.delete(DeleteRequest(key: .sample, ifRevision: expected))
        }
        #expect(error?.current == .revision(second.revision))
      }
      #expect(try await fixture.storage.load(.sample).summary == second)
    },
    Rule("a delete with a revision is a conflict if the credential is absent") { fixture in
      let saved = try await fixture.storage.save(.sample())
      try await fixture.storage.delete(.sample)
      let error = await expectUnchanged(.conflict) {
        try await fixture.storage.delete(DeleteRequest(key: .sample, ifRevision: saved.revision))
      }
      #expect(error?.current == .absent)
    },
  ]
}
