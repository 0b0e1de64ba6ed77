import KistCore
import Testing

extension UserStorageContract {
  static let finding: [Rule] = [
    Rule("a find in an empty storage returns an empty page") { storage in
      let page = try await storage.find(CredentialQuery())
      #expect(page == CredentialPage(credentials: [], next: nil))
    },
    Rule("a find returns exactly the matching credentials") { storage in
      for credential in shelf { try await storage.save(credential) }
      for (query, expected) in questions {
        let found = try await storage.findAll(query)
        #expect(found.map(\.key).sorted() == expected.map { shelf[$0].key }.sorted(), "\(query)")
      }
    },
    Rule("a find does not match replaced attributes") { storage in
      try await storage.save(.sample(attributes: ["host": "old"]))
      try await storage.save(.sample(attributes: ["host": "new"]))
      let old = CredentialQuery(attributes: ["host": "old"])
      let new = CredentialQuery(attributes: ["host": "new"])
      #expect(try await storage.findAll(old).isEmpty)
      #expect(try await storage.findAll(new).count == 1)
    },
    Rule("pages respect their limit and contain each credential exactly once") { storage in
      let keys = try await saveNumbered(25, in: storage)
      for limit in [1, 5, 7, 24, 25, 26, Limits.page] {
        #expect(try await pagedKeys(in: storage, limit: limit).sorted() == keys.sorted())
      }
    },
    Rule("pages of a filtered query contain only matching credentials") { storage in
      let keys = try await saveNumbered(12, in: storage) {
        ["parity": $0 % 2 == 0 ? "even" : "odd"]
      }
      let even = keys.indices.filter { $0 % 2 == 0 }.map { keys[$0] }
      let query = CredentialQuery(attributes: ["parity": "even"])
      #expect(try await pagedKeys(query, in: storage, limit: 2).sorted() == even.sorted())
    },
    Rule("paging continues if the last credential of a page is deleted") { storage in
      let keys = try await saveNumbered(10, in: storage)
      let first = try await storage.find(CredentialQuery(limit: 4))
      let seen = first.credentials.map(\.key)
      let last = try #require(seen.last)
      try await storage.delete(last)
      let next = try #require(first.next)
      let rest = try await pagedKeys(.init(after: next), in: storage, limit: 4)
      #expect((seen + rest).sorted() == keys.sorted())
    },
    Rule("an unchanged credential is listed exactly once if others change meanwhile") { storage in
      let steady = try await saveNumbered(20, service: "m-steady", in: storage)
      var seen: [CredentialKey] = []
      var query = CredentialQuery(limit: 3)
      var round = 0
      repeat {
        let page = try await storage.find(query)
        seen += page.credentials.map(\.key)
        query.after = page.next
        for service in ["a-before", "z-after"] {
          try await storage.save(.sample(.init(service: service, account: String(round))))
          try await storage.delete(.init(service: service, account: String(round - 2)))
          try await storage.save(.sample(.init(service: service)))
        }
        round += 1
      } while query.after != nil && round < 200
      #expect(seen.filter { $0.service == "m-steady" }.sorted() == steady.sorted())
    },
    Rule("an unchanged credential is listed exactly once while another handle writes") {
      storage, fixture in
      let steady = try await saveNumbered(20, service: "m-steady", in: storage)
      let writer = try await fixture.anotherHandle()
      async let writing: Void = churn(writer, rounds: 40)
      for _ in 0..<3 {
        let seen = try await pagedKeys(in: storage, limit: 3)
        #expect(seen.filter { $0.service == "m-steady" }.sorted() == steady.sorted())
      }
      try await writing
    },
    Rule("a find with an invalid cursor throws badRequest") { storage in
      try await storage.save(.sample())
      await expect(.badRequest) { try await storage.find(CredentialQuery(after: "not a cursor")) }
    },
  ]
}

private let shelf: [NewCredential] = [
  .sample(.init(service: "mail", account: "alice"), attributes: ["host": "one", "port": "993"]),
  .sample(.init(service: "mail", account: "bob"), attributes: ["host": "one", "port": "143"]),
  .sample(.init(service: "mail", account: ""), attributes: ["host": "two"]),
  .sample(.init(service: "web", account: "alice"), attributes: ["host": "one"]),
  .sample(.init(service: "web", account: "Alice"), attributes: ["Host": "one", "empty": ""]),
  .sample(.init(service: "mail2", account: "alice")),
]

/// Queries, and the indices in `shelf` that they match.
private let questions: [(CredentialQuery, [Int])] = [
  (.init(), [0, 1, 2, 3, 4, 5]),
  (.init(service: "mail"), [0, 1, 2]),
  (.init(service: "Mail"), []),
  (.init(service: "mai"), []),
  (.init(account: "alice"), [0, 3, 5]),
  (.init(account: ""), [2]),
  (.init(service: "mail", account: "alice"), [0]),
  (.init(service: "mail", account: ""), [2]),
  (.init(service: "web", account: "bob"), []),
  (.init(attributes: ["host": "one"]), [0, 1, 3]),
  (.init(attributes: ["Host": "one"]), [4]),
  (.init(attributes: ["host": "On"]), []),
  (.init(attributes: ["empty": ""]), [4]),
  (.init(attributes: ["absent": ""]), []),
  (.init(attributes: ["host": "one", "port": "993"]), [0]),
  (.init(attributes: ["host": "two", "port": "993"]), []),
  (.init(service: "mail", attributes: ["host": "one"]), [0, 1]),
  (.init(account: "alice", attributes: ["host": "one"]), [0, 3]),
  (.init(service: "web", account: "alice", attributes: ["host": "one"]), [3]),
  (.init(service: "web", account: "alice", attributes: ["host": "two"]), []),
]

/// Saves this many credentials and returns their keys.
private func saveNumbered(
  _ count: Int, service: String = "service", in storage: UserStorage,
  attributes: (Int) -> Attributes = { _ in [:] }
) async throws -> [CredentialKey] {
  let keys = (0..<count).map { CredentialKey(service: service, account: "account \($0)") }
  for (number, key) in keys.enumerated() {
    try await storage.save(.sample(key, attributes: attributes(number)))
  }
  return keys
}

/// Returns the keys of all pages, in order.
private func pagedKeys(
  _ query: CredentialQuery = CredentialQuery(), in storage: UserStorage, limit: Int
) async throws -> [CredentialKey] {
  var keys: [CredentialKey] = []
  var query = query
  query.limit = limit
  // Throws for cursors that form a loop.
  try await eachPage(of: query, storage.find) { page throws(StorageError) in
    #expect(page.credentials.count <= limit)
    keys += page.credentials.map(\.key)
    guard keys.count < 10_000 else { throw .internal("the pages do not end") }
  }
  return keys
}

/// Saves, replaces and deletes credentials of services before and after those that stay stored.
private func churn(_ storage: UserStorage, rounds: Int) async throws {
  for round in 0..<rounds {
    let key = CredentialKey(service: round % 2 == 0 ? "a" : "z", account: String(round % 5))
    try await storage.save(.sample(key, secret: String(round)))
    if round % 3 == 0 { try await storage.delete(key) }
  }
}
