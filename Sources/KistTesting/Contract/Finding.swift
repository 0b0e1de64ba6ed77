import KistCore
import Testing

extension UserStorageContract {
  static let finding: [Rule] = [
    Rule("a find in an empty storage returns an empty page") { fixture in
      let page = try await fixture.storage.find(CredentialQuery())
      #expect(page == CredentialPage(credentials: [], next: nil))
    },
    Rule("a find returns exactly the matching credentials") { fixture in
      for credential in shelf { try await fixture.storage.save(credential) }
      for (query, expected) in questions {
        let found = try await fixture.storage.findAll(query)
        #expect(
          found.map(\.key).sorted() == expected.map { shelf[$0].key }.sorted(), "\(query)")
      }
    },
    Rule("a find does not match replaced attributes") { fixture in
      try await fixture.storage.save(.sample(attributes: ["host": "old"]))
      try await fixture.storage.save(.sample(attributes: ["host": "new"]))
      let old = CredentialQuery(attributes: ["host": "old"])
      let new = CredentialQuery(attributes: ["host": "new"])
      #expect(try await fixture.storage.findAll(old).isEmpty)
      #expect(try await fixture.storage.findAll(new).count == 1)
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
