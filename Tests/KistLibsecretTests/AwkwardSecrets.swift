#if Libsecret
  import KistCore
  import Testing

  /// A secret that some keyring is known to alter, or might.
  struct AwkwardSecret: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let secret: Secret

    init(_ description: String, _ text: String) {
      testDescription = description
      secret = Secret(utf8: text)
    }

    init(_ description: String, _ bytes: [UInt8]) {
      testDescription = description
      secret = Secret(copying: bytes)
    }
  }

  let awkwardSecrets = [
    AwkwardSecret("backslashes", #"C:\temp\new"#),
    AwkwardSecret("a blank in front", " x"),
    AwkwardSecret("a blank behind", "x "),
    AwkwardSecret("a newline behind", "x\n"),
    AwkwardSecret("lines", "pw\nexpiry=5\n[item]\nfree text"),
    AwkwardSecret("CRLF", "one\r\ntwo"),
    AwkwardSecret("a tab", "a\tb"),
    AwkwardSecret("NUL", [0x61, 0, 0x62]),
    AwkwardSecret("bytes that are not UTF-8", [0xFF, 0xFE, 0xC0, 0x80]),
    AwkwardSecret("every byte", Array(0...255)),
    AwkwardSecret("nothing", ""),
    AwkwardSecret("the mark of base64", "kist1:YQ=="),
    AwkwardSecret("a placeholder of KeePassXC", "{USERNAME}"),
    AwkwardSecret("a byte order mark", "\u{FEFF}a"),
    AwkwardSecret("a line separator", "a\u{2028}b"),
    AwkwardSecret("a control of C1", "a\u{85}b"),
    AwkwardSecret("512 KiB", (0..<Limits.secret).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }),
  ]
#endif
