import KistCore
import Testing

extension UserStorageContract {
  static let secrets: [Rule] = [
    Rule("a secret of any single byte comes back unchanged") { fixture in
      for byte in UInt8.min ... .max {
        try await expectRoundTrip([byte], in: fixture.storage, "byte \(byte)")
      }
    },
    Rule("a secret of all byte values comes back unchanged") { fixture in
      try await expectRoundTrip(Array(UInt8.min ... .max), in: fixture.storage, "all bytes")
    },
    Rule("an empty secret comes back") { fixture in
      try await expectRoundTrip([], in: fixture.storage, "empty")
    },
    Rule("a secret of the maximum size comes back unchanged") { fixture in
      let bytes = (0..<Limits.secret).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
      try await expectRoundTrip(bytes, in: fixture.storage, "512 KiB of all bytes")
      let text = [UInt8](repeating: UInt8(ascii: "\""), count: Limits.secret)
      try await expectRoundTrip(text, in: fixture.storage, "512 KiB of quotation marks")
    },
    Rule("a secret of awkward text comes back byte for byte") { fixture in
      for text in awkwardTexts {
        try await expectRoundTrip(Array(text.utf8), in: fixture.storage, text.debugDescription)
      }
    },
    Rule("a secret that is not UTF-8 comes back byte for byte") { fixture in
      for bytes in malformedTexts {
        try await expectRoundTrip(bytes, in: fixture.storage, "\(bytes)")
      }
    },
  ]

  /// Texts that text files, keyrings and JSON have failed to preserve.
  static let awkwardTexts = [
    "C:\\temp\\new", "\\", "\\\\", "\\n", "\\u0000", "%00", "%", "\"", "'", "`", "$HOME", "=", ";",
    " ", " leading", "trailing ", "\tleading tab", "trailing tab\t", "  ", "\n", "\r", "\r\n",
    "line\n", "line\r\n", "one\ntwo\n\nthree", "one\r\ntwo\rthree", "pw\nexpiry=5", "[item]",
    "[item]\nsecret=x", "# no comment", "#", "// neither", "kist1:", "kist1:aGVsbG8=", "kist1:%%%",
    "null", "true", "0", "-0", "1e400", "{}", "[]", "{\"op\":\"delete\"}", "\0", "a\0b", "\0\0",
    "aGVsbG8=", "é", "e\u{301}", "\u{FEFF}mark", "\u{2028}\u{2029}", "\u{85}", "\u{7F}",
    "\u{1B}[0m",
    "\u{FFFD}", "\u{FFFF}", "\u{10FFFF}", "🔑", "👩‍👩‍👧‍👦🇩🇪", "שלום עולם", "\u{202E}desrever\u{202C}",
    "مرحبا", "日本語", "ﷺ", "\u{0}\u{1}\u{2}\u{1F}",
  ]

  /// Bytes that look like UTF-8 but are not: stray, incomplete, overlong, a surrogate, too large.
  static let malformedTexts: [[UInt8]] = [
    [0x80], [0xC3], [0xC3, 0x28], [0xE2, 0x82], [0xF0, 0x9F, 0x94], [0xC0, 0x80],
    [0xE0, 0x80, 0xAF],
    [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF, 0xFE], Array("text".utf8) + [0xFF],
  ]
}

private func expectRoundTrip(
  _ bytes: [UInt8], in storage: UserStorage, _ what: String,
  sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let secret = Secret(copying: bytes)
  try await storage.save(NewCredential(key: .sample, secret: secret))
  let loaded = try await storage.load(.sample).secret
  #expect(loaded == secret, "\(what) came back changed", sourceLocation: sourceLocation)
}
