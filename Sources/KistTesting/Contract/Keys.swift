import KistCore
import Testing

extension UserStorageContract {
  static let keys: [Rule] = [
    Rule("keys that differ only in Unicode normalisation are distinct") { fixture in
      try await expectDistinct(
        [
          ("é", "é"), ("e\u{301}", "é"), ("é", "e\u{301}"), ("ﬁ", ""), ("fi", ""), ("Å", ""),
          ("\u{212B}", ""), ("A\u{30A}", ""),
        ],
        in: fixture.storage)
    },
    Rule("keys that differ only in case are distinct") { fixture in
      try await expectDistinct(
        [
          ("GitHub", "alice"), ("github", "alice"), ("github", "Alice"), ("straße", ""),
          ("STRASSE", ""), ("ı", ""), ("I", ""), ("i", ""),
        ],
        in: fixture.storage)
    },
    Rule("keys that differ only in blanks are distinct") { fixture in
      try await expectDistinct(
        [
          ("a", "b"), ("a ", "b"), (" a", "b"), ("a", "b "), ("a", " b"), ("a", " "), ("a", ""),
          ("a\u{A0}", "b"), (" ", ""), ("  ", ""),
        ],
        in: fixture.storage)
    },
    Rule("keys that are prefixes of each other are distinct") { fixture in
      try await expectDistinct(
        [
          ("a", ""), ("aa", ""), ("a", "a"), ("aa", "a"), ("a", "aa"), ("ab", "c"), ("a", "bc"),
          ("abc", ""),
        ],
        in: fixture.storage)
    },
    Rule("keys that contain separators are distinct") { fixture in
      try await expectDistinct(
        [
          ("a/b", "c"), ("a", "b/c"), ("a/b/c", ""), ("a%2Fb", "c"), ("a:b", "c"), ("a", "b:c"),
          ("*", ""), ("a%", ""), ("_", ""), ("[a]", ""), ("a=b", ""), ("..", ""), ("a\\b", "c"),
          ("'", "\""), ("-", "--"),
        ],
        in: fixture.storage)
    },
    Rule("keys in any script come back byte for byte") { fixture in
      try await expectDistinct(
        [
          ("שלום", "עולם"), ("\u{202E}abc", ""), ("日本語", "🔑"), ("👩‍👩‍👧‍👦", "🇩🇪"), ("\u{FEFF}a", ""),
          ("a", "\u{2028}"), ("\u{10FFFF}", "\u{FFFF}"),
        ],
        in: fixture.storage)
    },
  ]
}

/// Saves a different secret under each key, then expects each key to have its own secret.
private func expectDistinct(
  _ pairs: [(service: String, account: String)], in storage: UserStorage,
  sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let keys = pairs.map { CredentialKey(service: $0.service, account: $0.account) }
  for (number, key) in keys.enumerated() {
    try await storage.save(.sample(key, secret: "secret \(number)"))
  }
  let found = try await storage.findAll().map(\.key)
  #expect(found.sorted() == keys.sorted(), sourceLocation: sourceLocation)
  for (number, key) in keys.enumerated() {
    let loaded = try await storage.load(key)
    #expect(loaded.summary.key == key, sourceLocation: sourceLocation)
    #expect(
      loaded.secret == Secret(utf8: "secret \(number)"), "\(key)", sourceLocation: sourceLocation)
    let exact = CredentialQuery(service: key.service, account: key.account)
    #expect(
      try await storage.findAll(exact).map(\.key) == [key], sourceLocation: sourceLocation)
  }
  for (number, key) in keys.enumerated() {
    #expect(try await storage.delete(key), sourceLocation: sourceLocation)
    let left = try await storage.findAll().map(\.key)
    #expect(left.sorted() == keys[(number + 1)...].sorted(), sourceLocation: sourceLocation)
  }
}
