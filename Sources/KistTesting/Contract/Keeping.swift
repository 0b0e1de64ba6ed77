import KistCore
import Testing

extension UserStorageContract {
  static let keeping: [Rule] = [
    Rule("a save keeps the fields that it names and the new credential does not have") {
      storage, fixture in
      let stored = try await fixture.saveWhole()
      fixture.clock.advance(bySeconds: 60)
      let saved = try await storage.save(.sample(secret: "new"), keep: .all)
      #expect(saved.label == stored.label)
      #expect(saved.attributes == stored.attributes)
      #expect(saved.expiresAt == stored.expiresAt)
      #expect(saved.createdAt == stored.createdAt)
      #expect(saved.modifiedAt == fixture.clock.now())
      #expect(saved.revision != stored.revision)
      #expect(try await storage.load(.sample) == Credential(saved, "new"))
      #expect(try await storage.findAll() == [saved])
    },
    Rule("a save that keeps fields removes those that it does not name") { storage, fixture in
      for kept in [KeptFields.label, .attributes, .expiresAt] {
        let stored = try await fixture.saveWhole()
        let saved = try await storage.save(.sample(), keep: kept)
        #expect(saved.label == (kept == .label ? stored.label : nil))
        #expect(saved.attributes == (kept == .attributes ? stored.attributes : [:]))
        #expect(saved.expiresAt == (kept == .expiresAt ? stored.expiresAt : nil))
        #expect(try await storage.load(.sample).summary == saved)
      }
    },
    Rule("a save that keeps fields replaces those that the new credential has") {
      storage, fixture in
      let stored = try await fixture.saveWhole()
      let later = stored.expiresAt?.advanced(bySeconds: 60)
      let saved = try await storage.save(
        .sample(label: "", attributes: ["port": "2", "user": "u"], expiresAt: later), keep: .all)
      #expect(saved.label == "")
      #expect(saved.attributes == ["host": "example.org", "port": "2", "user": "u"])
      #expect(saved.expiresAt == later)
      #expect(try await storage.load(.sample).summary == saved)
    },
    Rule("a save does not keep an expiry that has passed") { storage, fixture in
      let stored = try await fixture.saveWhole()
      fixture.clock.advance(bySeconds: 3600)
      await expect(.expired) { try await storage.load(.sample) }
      let saved = try await storage.save(.sample(secret: "new"), keep: .all)
      #expect(saved.expiresAt == nil)
      #expect(saved.label == stored.label)
      #expect(saved.attributes == stored.attributes)
      #expect(try await storage.load(.sample) == Credential(saved, "new"))
    },
    Rule("a save that keeps fields creates an absent credential, also after a delete") {
      storage, fixture in
      let first = try await storage.save(.sample(secret: "new"), keep: .all)
      #expect(first.label == nil && first.attributes.isEmpty && first.expiresAt == nil)
      try await fixture.saveWhole()
      try await storage.delete(.sample)
      let second = try await storage.save(.sample(secret: "new"), keep: .all)
      #expect(second.label == nil && second.attributes.isEmpty && second.expiresAt == nil)
      #expect(try await storage.load(.sample) == Credential(second, "new"))
    },
    Rule("a save whose kept attributes exceed a limit is tooLarge and changes nothing") { storage in
      let stored = try await storage.save(.sample(attributes: attributes(Limits.attributes)))
      await expectUnchanged(.tooLarge) {
        try await storage.save(.sample(secret: "new", attributes: ["another": ""]), keep: .all)
      }
      #expect(try await storage.load(.sample) == Credential(stored, "correct horse"))
    },
    Rule("a save that keeps fields is a conflict if its condition does not hold") {
      storage, fixture in
      let stored = try await fixture.saveWhole()
      for condition in [Condition.ifAbsent, .ifRevision(Revision(rawValue: "never.1"))] {
        let error = await expectUnchanged(.conflict) {
          try await storage.save(.sample(secret: "new"), if: condition, keep: .all)
        }
        #expect(error?.current == .revision(stored.revision))
      }
      let saved = try await storage.save(
        .sample(secret: "new"), if: .ifRevision(stored.revision), keep: .all)
      #expect(saved.label == stored.label)
    },
    Rule("concurrent saves that keep attributes lose none of them") { storage, fixture in
      let handles = [storage, try await fixture.anotherHandle()]
      try await withThrowingTaskGroup { group in
        for number in 0..<20 {
          let storage = handles[number % handles.count]
          group.addTask {
            _ = try await storage.save(.sample(attributes: ["a\(number)": ""]), keep: .attributes)
          }
        }
        try await group.waitForAll()
      }
      #expect(try await storage.load(.sample).summary.attributes.count == 20)
    },
  ]
}

extension UserStorageContract.Fixture {
  /// Saves a credential with every field; it expires in an hour.
  @discardableResult
  fileprivate func saveWhole() async throws -> CredentialSummary {
    try await storage.save(
      .sample(
        secret: "old", label: "label", attributes: ["host": "example.org", "port": "1"],
        expiresAt: clock.now().advanced(bySeconds: 3600)))
  }
}
