import KistCore
import Testing

extension UserStorageContract {
  static let concurrency: [Rule] = [
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
