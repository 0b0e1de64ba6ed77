import KistCore
import Testing

extension UserStorageContract {
  static let changes: [Rule] = [
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
    Rule("every later request on any handle sees a save or a delete") { storage, fixture in
      let other = try await fixture.anotherHandle()
      for round in 0..<10 {
        let secret = "round \(round)"
        let saved = try await storage.save(.sample(secret: secret))
        for handle in [storage, other] {
          #expect(try await handle.load(.sample) == Credential(saved, secret))
        }
        #expect(try await other.findAll() == [saved])
        #expect(try await other.delete(.sample))
        await expect(.notFound) { try await storage.load(.sample) }
        #expect(try await storage.findAll().isEmpty)
      }
    },
    Rule("concurrent saves of different keys are all stored") { storage, fixture in
      let handles = [storage, try await fixture.anotherHandle()]
      let keys = (0..<50).map { CredentialKey(service: "service", account: String($0)) }
      try await withThrowingTaskGroup { group in
        for (number, key) in keys.enumerated() {
          let storage = handles[number % handles.count]
          group.addTask { _ = try await storage.save(.sample(key, secret: key.account)) }
        }
        try await group.waitForAll()
      }
      for key in keys {
        #expect(try await storage.load(key).secret == Secret(utf8: key.account))
      }
      #expect(try await storage.findAll().map(\.key).sorted() == keys.sorted())
    },
    Rule("concurrent saves of one key leave exactly one of them, complete") { storage in
      let revisions = try await withThrowingTaskGroup(of: (Revision, String).self) { group in
        for number in 0..<20 {
          let mark = "writer \(number)"
          group.addTask {
            let saved = try await storage.save(
              .sample(secret: mark, label: mark, attributes: ["mark": mark]))
            return (saved.revision, mark)
          }
        }
        return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      #expect(revisions.count == 20)
      let loaded = try await storage.load(.sample)
      let mark = try #require(revisions[loaded.summary.revision])
      #expect(loaded.secret == Secret(utf8: mark))
      #expect(loaded.summary.label == mark)
      #expect(loaded.summary.attributes == ["mark": mark])
    },
  ]
}
