import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct SecretTests {
  private static let text = "correct horse battery staple"
  private static let secret = Secret(utf8: text)

  @Test(arguments: [
    "\(secret)", "\([secret])", "\(secret as Secret?, default: "nil")", "\(["key": secret])",
    String(describing: secret), String(reflecting: secret), String(reflecting: Optional(secret)),
    String(reflecting: [secret]), String(reflecting: Result<Secret, StorageError>.success(secret)),
    dumped(secret), dumped([secret]), dumped(Optional(secret)),
    dumped(NewCredential.sample(secret: text)),
    String(describing: NewCredential.sample(secret: text)),
    String(reflecting: SaveRequest(credential: .sample(secret: text))),
    dumped(Credential(summary: .sample(), secret: secret)),
    String(describing: Mirror(reflecting: secret).children.map(\.value)),
  ])
  func `a secret is redacted wherever it could be printed`(printed: String) {
    #expect(!printed.contains("horse"))
    #expect(!printed.contains("99, 111"), "its bytes as numbers")
  }

  @Test func `a secret shows itself as one`() {
    #expect("\(Self.secret)" == "<secret>")
    #expect(Mirror(reflecting: Self.secret).children.isEmpty)
  }

  @Test(arguments: 0..<9)
  func `secrets of the same length differ if one byte differs`(position: Int) {
    let bytes = [UInt8]("b.example".utf8)
    var other = bytes
    for value in UInt8.min...(.max) where value != bytes[position] {
      other[position] = value
      #expect(Secret(copying: bytes) != Secret(copying: other))
    }
  }

  @Test func `secrets are equal by their bytes`() {
    #expect(Secret(utf8: "") == Secret(copying: []))
    #expect(Secret(utf8: "ab") == Secret(copying: [0x61, 0x62]))
    #expect(Secret(utf8: "ab") != Secret(utf8: "ac"))
    #expect(Secret(utf8: "ab") != Secret(utf8: "bb"))
    #expect(Secret(utf8: "ab") != Secret(utf8: "abc"))
    #expect(Secret(utf8: "é") != Secret(utf8: "e\u{301}"))
  }

  @Test(arguments: [0, 1, 63, 64, 65, 1000])
  func `a secret holds the bytes that it was made of`(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let secret = Secret(copying: bytes)
    #expect(secret.count == count)
    #expect(secret.isEmpty == (count == 0))
    #expect(secret.withBytes { span in span.indices.map { span[$0] } } == bytes)
  }

  @Test(arguments: [
    ("", ""), ("\n", ""), ("\r\n", ""), ("\r", "\r"), ("a", "a"), ("a\n", "a"), ("a\r\n", "a"),
    ("a\n\n", "a\n"), ("a\r\n\r\n", "a\r\n"), ("a\n\r", "a\n\r"), ("a\nb", "a\nb"),
  ])
  func `one newline at the end is dropped, of a file from Windows too`(text: String, rest: String) {
    #expect(Secret(utf8: text).withoutNewline == Secret(utf8: rest))
  }

  @Test(arguments: [
    ("", ""), ("\n", ""), ("\r\n", ""), ("a", "a"), ("a\n", "a"), ("a\r\n", "a"),
    ("a\rb\n", "a\rb"), ("a\n\n", "a\n\n"), ("a\nb", "a\nb"), ("a\nb\n", "a\nb\n"),
    ("a\r\nb\r\n", "a\r\nb\r\n"), ("\na\n", "\na\n"),
  ])
  func `a single line loses its newline, and several lines are kept`(text: String, rest: String) {
    #expect(Secret(utf8: text).withoutNewlineOfSingleLine == Secret(utf8: rest))
  }

  @Test func `an error of the body passes through`() {
    #expect(throws: StorageError.notFound) {
      try Self.secret.withBytes { _ throws(StorageError) in throw .notFound }
    }
  }
}

private func dumped(_ value: some Any) -> String {
  var text = ""
  dump(value, to: &text)
  return text
}
