#if Libsecret
  import Foundation
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import Testing

  @Suite(.requires(.dbusDaemon, .gdbus, .python), .timeLimit(.minutes(10)))
  struct `A label that another program gave an item` {
    private let key = CredentialKey(service: "example.org", account: "alice")

    @Test(arguments: ["a label", "日本語", String(repeating: "a", count: 1024)])
    func `is the credential's`(label: String) async throws {
      #expect(try await listed(label: label) == [label])
    }

    @Test(arguments: [
      "", "evil\nbank\troot", "\u{1B}[2J", "a\u{9C}b", String(repeating: "a", count: 1025),
    ])
    func `is left out where no save would take it`(label: String) async throws {
      #expect(try await listed(label: label) == [nil])
    }

    @Test func `is corrupt if it is in the bookkeeping and no save would accept it`()
      async throws
    {
      let json =
        #"{"version":1,"generation":1,"revision":"e.7","label":"evil\nbank","attributes":{},"createdAt":"2026-01-02T03:04:05Z","modifiedAt":"2026-01-02T03:04:05Z"}"#
      let error = await #expect(throws: StorageError.self) {
        try await listed(["kist": Data(json.utf8).base64EncodedString()], label: "x")
      }
      #expect(error?.code == .corrupt)
      #expect(error?.message.contains("evil") == false)
    }

    private func listed(_ more: [String: String] = [:], label: String) async throws -> [String?] {
      try await withPrivateBus { bus in
        let item = MockProvider.Item(
          key.service, key.account, more, label: label, value: "x")
        _ = try await MockProvider(holding: [item], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        let found = try await storage.credentials.findAll()
        #expect(try await storage.credentials.load(key).summary == found.first)
        await storage.close()
        return found.map(\.label)
      }
    }
  }
#endif
