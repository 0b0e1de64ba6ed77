import KistCore
import Testing

extension UserStorageContract {
  static let replacing: [Rule] = [
    Rule("a save returns the same summary as a later load and find") { fixture in
      let credential = NewCredential.sample(
        label: "Alice’s\u{A0}e\u{301}", attributes: ["host": "example.org", "port": ""],
        expiresAt: fixture.clock.now().advanced(bySeconds: 60))
      let saved = try await fixture.storage.save(credential)
      #expect(saved.key == credential.key)
      #expect(saved.label.map { Array($0.utf8) } == credential.label.map { Array($0.utf8) })
      #expect(saved.attributes == credential.attributes)
      #expect(saved.expiresAt == credential.expiresAt)
      #expect(saved.createdAt == fixture.clock.now())
      #expect(saved.modifiedAt == fixture.clock.now())
      #expect(try await fixture.storage.load(.sample).summary == saved)
      #expect(try await fixture.storage.findAll() == [saved])
    },
    Rule("a save replaces the whole credential, except createdAt") { fixture in
      let first = try await fixture.storage.save(
        .sample(
          secret: "old", label: "label", attributes: ["host": "example.org"],
          expiresAt: fixture.clock.now().advanced(bySeconds: 3600)))
      fixture.clock.advance(bySeconds: 60)
      let second = try await fixture.storage.save(.sample(secret: "new"))
      #expect(second.label == nil)
      #expect(second.attributes.isEmpty)
      #expect(second.expiresAt == nil)
      #expect(second.createdAt == first.createdAt)
      #expect(second.modifiedAt == fixture.clock.now())
      #expect(second.revision != first.revision)
      let loaded = try await fixture.storage.load(.sample)
      #expect(loaded == Credential(summary: second, secret: Secret(utf8: "new")))
      #expect(try await fixture.storage.findAll() == [second])
    },
    Rule("a shorter secret replaces a longer one completely") { fixture in
      for length in [4096, 4095, 1024, 65, 64, 63, 1, 0] {
        let secret = text(ofLength: length)
        try await fixture.storage.save(.sample(secret: secret))
        #expect(try await fixture.storage.load(.sample).secret == Secret(utf8: secret))
      }
    },
    Rule("a credential saved after a delete has a new createdAt and no old label") { fixture in
      try await fixture.storage.save(.sample(label: "label"))
      try await fixture.storage.delete(.sample)
      fixture.clock.advance(bySeconds: 60)
      let saved = try await fixture.storage.save(.sample())
      #expect(saved.createdAt == fixture.clock.now())
      #expect(saved.label == nil)
    },
    Rule("attribute values come back byte for byte") { fixture in
      let numbered = awkwardTexts.prefix(Limits.attributes).enumerated()
      let attributes = Attributes(
        Dictionary(uniqueKeysWithValues: numbered.map { ("name \($0.offset)", $0.element) }))
      try await fixture.storage.save(.sample(attributes: attributes))
      #expect(try await fixture.storage.load(.sample).summary.attributes == attributes)
    },
    Rule("attributes whose names differ in case or blanks are distinct") { fixture in
      let attributes: Attributes = [
        "host": "a", "Host": "b", " host": "c", "host ": "d", "~!\"": "e",
      ]
      try await fixture.storage.save(.sample(attributes: attributes))
      #expect(try await fixture.storage.load(.sample).summary.attributes == attributes)
    },
  ]
}
