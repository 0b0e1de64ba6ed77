import KistCore
import Testing

extension UserStorageContract {
  static let replacing: [Rule] = [
    Rule("a save returns the same summary as a later load and find") { storage, fixture in
      let credential = NewCredential.sample(
        label: "Alice’s\u{A0}e\u{301}", attributes: ["host": "example.org", "port": ""],
        expiresAt: fixture.clock.now().advanced(bySeconds: 60))
      let saved = try await storage.save(credential)
      #expect(saved.key == credential.key)
      #expect(saved.label.map { Array($0.utf8) } == credential.label.map { Array($0.utf8) })
      #expect(saved.attributes == credential.attributes)
      #expect(saved.expiresAt == credential.expiresAt)
      #expect(saved.createdAt == fixture.clock.now())
      #expect(saved.modifiedAt == fixture.clock.now())
      #expect(try await storage.load(.sample).summary == saved)
      #expect(try await storage.findAll() == [saved])
    },
    Rule("a save replaces the whole credential, except createdAt") { storage, fixture in
      let first = try await storage.save(
        .sample(
          secret: "old", label: "label", attributes: ["host": "example.org"],
          expiresAt: fixture.clock.now().advanced(bySeconds: 3600)))
      fixture.clock.advance(bySeconds: 60)
      let second = try await storage.save(.sample(secret: "new"))
      #expect(second.label == nil)
      #expect(second.attributes.isEmpty)
      #expect(second.expiresAt == nil)
      #expect(second.createdAt == first.createdAt)
      #expect(second.modifiedAt == fixture.clock.now())
      #expect(second.revision != first.revision)
      #expect(try await storage.load(.sample) == Credential(second, "new"))
      #expect(try await storage.findAll() == [second])
    },
    Rule("a shorter secret replaces a longer one completely") { storage in
      for length in [4096, 4095, 1024, 65, 64, 63, 1, 0] {
        let secret = text(ofLength: length)
        try await storage.save(.sample(secret: secret))
        #expect(try await storage.load(.sample).secret == Secret(utf8: secret))
      }
    },
    Rule("a credential saved after a delete has a new createdAt and no old label") {
      storage, fixture in
      try await storage.save(.sample(label: "label"))
      try await storage.delete(.sample)
      fixture.clock.advance(bySeconds: 60)
      let saved = try await storage.save(.sample())
      #expect(saved.createdAt == fixture.clock.now())
      #expect(saved.label == nil)
    },
    Rule("attribute values come back byte for byte") { storage in
      let numbered = awkwardTexts.prefix(Limits.attributes).enumerated()
      let attributes = Attributes(
        Dictionary(uniqueKeysWithValues: numbered.map { ("name \($0.offset)", $0.element) }))
      try await storage.save(.sample(attributes: attributes))
      #expect(try await storage.load(.sample).summary.attributes == attributes)
    },
    Rule("attributes whose names differ in case or blanks are distinct") { storage in
      let attributes: Attributes = [
        "host": "a", "Host": "b", " host": "c", "host ": "d", "~!\"": "e",
      ]
      try await storage.save(.sample(attributes: attributes))
      #expect(try await storage.load(.sample).summary.attributes == attributes)
    },
  ]

  static let deleting: [Rule] = [
    Rule("a load of a credential that was never saved throws notFound") { storage in
      await expect(.notFound) { try await storage.load(.sample) }
      await expect(.notFound) {
        try await storage.load(LoadRequest(key: .sample, allowExpired: true))
      }
    },
    Rule("a delete returns true only if the credential is stored") { storage in
      #expect(try await storage.delete(.sample) == false)
      try await storage.save(.sample())
      #expect(try await storage.delete(.sample))
      #expect(try await storage.delete(.sample) == false)
      await expect(.notFound) { try await storage.load(.sample) }
      #expect(try await storage.findAll().isEmpty)
    },
    Rule("a delete leaves all other credentials unchanged") { storage in
      let others = ["bob", "carol", ""].map {
        CredentialKey(service: CredentialKey.sample.service, account: $0)
      }
      for key in others + [.sample] { try await storage.save(.sample(key)) }
      try await storage.delete(.sample)
      #expect(try await storage.findAll().map(\.key).sorted() == others.sorted())
    },
    Rule("a delete with the current revision succeeds") { storage in
      let saved = try await storage.save(.sample())
      let request = DeleteRequest(key: .sample, ifRevision: saved.revision)
      #expect(try await storage.delete(request))
      await expect(.notFound) { try await storage.load(.sample) }
    },
    Rule("a delete with another revision is a conflict and deletes nothing") { storage in
      let first = try await storage.save(.sample())
      let second = try await storage.save(.sample())
      for expected in [first.revision, Revision(rawValue: "never.1")] {
        let error = await expectUnchanged(.conflict) {
          try await storage.delete(DeleteRequest(key: .sample, ifRevision: expected))
        }
        #expect(error?.current == .revision(second.revision))
      }
      #expect(try await storage.load(.sample).summary == second)
    },
    Rule("a delete with a revision is a conflict if the credential is absent") { storage in
      let saved = try await storage.save(.sample())
      try await storage.delete(.sample)
      let error = await expectUnchanged(.conflict) {
        try await storage.delete(DeleteRequest(key: .sample, ifRevision: saved.revision))
      }
      #expect(error?.current == .absent)
    },
  ]
}
