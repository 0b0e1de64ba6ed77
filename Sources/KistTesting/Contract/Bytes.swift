import KistCore
import Testing

extension UserStorageContract {
  static let bytes: [Rule] = [
    kept("a secret of any single byte comes back unchanged", (UInt8.min ... .max).map { [$0] }),
    kept("a secret of all byte values comes back unchanged", [Array(UInt8.min ... .max)]),
    kept("an empty secret comes back", [[]]),
    kept(
      "a secret of the maximum size comes back unchanged",
      [
        (0..<Limits.secret).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) },
        [UInt8](repeating: UInt8(ascii: "\""), count: Limits.secret),
      ]),
    kept("a secret of awkward text comes back byte for byte", awkwardTexts.map { Array($0.utf8) }),
    kept("a secret that is not UTF-8 comes back byte for byte", malformedTexts),
    distinctKeys(
      "keys that differ only in Unicode normalisation are distinct",
      ("é", "é"), ("e\u{301}", "é"), ("é", "e\u{301}"), ("ﬁ", ""), ("fi", ""), ("Å", ""),
      ("\u{212B}", ""), ("A\u{30A}", "")),
    distinctKeys(
      "keys that differ only in case are distinct",
      ("GitHub", "alice"), ("github", "alice"), ("github", "Alice"), ("straße", ""),
      ("STRASSE", ""), ("ı", ""), ("I", ""), ("i", "")),
    distinctKeys(
      "keys that differ only in blanks are distinct",
      ("a", "b"), ("a ", "b"), (" a", "b"), ("a", "b "), ("a", " b"), ("a", " "), ("a", ""),
      ("a\u{A0}", "b"), (" ", ""), ("  ", "")),
    distinctKeys(
      "keys that are prefixes of each other are distinct",
      ("a", ""), ("aa", ""), ("a", "a"), ("aa", "a"), ("a", "aa"), ("ab", "c"), ("a", "bc"),
      ("abc", "")),
    distinctKeys(
      "keys that contain separators are distinct",
      ("a/b", "c"), ("a", "b/c"), ("a/b/c", ""), ("a%2Fb", "c"), ("a:b", "c"), ("a", "b:c"),
      ("*", ""), ("a%", ""), ("_", ""), ("[a]", ""), ("a=b", ""), ("..", ""), ("a\\b", "c"),
      ("'", "\""), ("-", "--")),
    distinctKeys(
      "keys in any script come back byte for byte",
      ("שלום", "עולם"), ("\u{202E}abc", ""), ("日本語", "🔑"), ("👩‍👩‍👧‍👦", "🇩🇪"), ("\u{FEFF}a", ""),
      ("a", "\u{2028}"), ("\u{10FFFF}", "\u{FFFF}")),
  ]

  /// Texts that text files, keyrings and JSON have failed to preserve.
  static let awkwardTexts = [
    "C:\\temp\\new", "\\", "\\\\", "\\n", "\\u0000", "%00", "%", "\"", "'", "`", "$HOME", "=", ";",
    " ", " leading", "trailing ", "\tleading tab", "trailing tab\t", "  ", "\n", "\r", "\r\n",
    "line\n", "line\r\n", "one\ntwo\n\nthree", "one\r\ntwo\rthree", "pw\nexpiry=5", "[item]",
    "[item]\nsecret=x", "# no comment", "#", "// neither", "kist1:", "kist1:aGVsbG8=", "kist1:%%%",
    "null", "true", "0", "-0", "1e400", "{}", "[]", "{\"op\":\"delete\"}", "\0", "a\0b", "\0\0",
    "aGVsbG8=", "é", "e\u{301}", "\u{FEFF}mark", "\u{2028}\u{2029}", "\u{85}", "\u{7F}",
    "\u{1B}[0m", "\u{FFFD}", "\u{FFFF}", "\u{10FFFF}", "🔑", "👩‍👩‍👧‍👦🇩🇪", "שלום עולם",
    "\u{202E}desrever\u{202C}",
    "مرحبا", "日本語", "ﷺ", "\u{0}\u{1}\u{2}\u{1F}",
  ]

  /// Bytes that look like UTF-8 but are not: stray, incomplete, overlong, a surrogate, too large.
  static let malformedTexts: [[UInt8]] = [
    [0x80], [0xC3], [0xC3, 0x28], [0xE2, 0x82], [0xF0, 0x9F, 0x94], [0xC0, 0x80],
    [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF, 0xFE],
    Array("text".utf8) + [0xFF],
  ]
}

/// Returns a rule that each of these secrets is loaded as it was saved.
private func kept(
  _ name: String, _ secrets: [[UInt8]], sourceLocation: SourceLocation = #_sourceLocation
) -> UserStorageContract.Rule {
  UserStorageContract.Rule(name) { storage in
    for bytes in secrets {
      let secret = Secret(copying: bytes)
      try await storage.save(NewCredential(key: .sample, secret: secret))
      let loaded = try await storage.load(.sample).secret
      #expect(
        loaded == secret, "\(bytes.count) bytes, which begin with \(bytes.prefix(64))",
        sourceLocation: sourceLocation)
    }
  }
}

/// Returns a rule that a storage keeps these keys apart: each key has a secret of its own.
private func distinctKeys(
  _ name: String, _ pairs: (service: String, account: String)...,
  sourceLocation: SourceLocation = #_sourceLocation
) -> UserStorageContract.Rule {
  let keys = pairs.map { CredentialKey(service: $0.service, account: $0.account) }
  return UserStorageContract.Rule(name) { storage in
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
}
