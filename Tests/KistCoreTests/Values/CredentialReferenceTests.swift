import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct CredentialReferenceTests {
  @Test(arguments: [
    ("github.com", "alice", "kist://github.com/alice"), ("github.com", "", "kist://github.com"),
    ("a/b", "c d", "kist://a%2Fb/c%20d"), ("é", "e\u{301}", "kist://%C3%A9/e%CC%81"),
    ("100%", "🔑", "kist://100%25/%F0%9F%94%91"), ("-._~", "AZaz09", "kist://-._~/AZaz09"),
    ("a?b#c@d:e", "+", "kist://a%3Fb%23c%40d%3Ae/%2B"), (" ", " ", "kist://%20/%20"),
  ])
  func `a key is written as one word and read again`(
    service: String, account: String, text: String
  ) {
    let key = CredentialKey(service: service, account: account)
    #expect(CredentialReference(key).description == text)
    #expect(CredentialReference(text)?.key == key)
  }

  @Test func `any key makes a reference that is read as the same key`() {
    var generator = Seeded(3986)
    for _ in 0..<1000 {
      let service = "s" + generator.text(upTo: 20)
      let key = CredentialKey(service: service, account: generator.text(upTo: 20))
      let text = CredentialReference(key).description
      #expect(CredentialReference(text)?.key == key)
      #expect(text.utf8.allSatisfy { (0x21...0x7E).contains($0) })
    }
  }

  @Test(arguments: [("kist://a%2fb", "a/b"), ("kist://%61", "a"), ("kist://a/", "a")])
  func `other encodings of the same reference are read, too`(
    text: String, service: String
  ) {
    #expect(CredentialReference(text)?.key == CredentialKey(service: service))
  }

  @Test(arguments: [
    "", "kist", "kist:", "kist:/", "kist://", "kist:///", "kist:///alice", "KIST://a", "http://a/b",
    " kist://a", "kist://a ", "kist://a/b/c", "kist://a//", "kist://a%", "kist://a%2",
    "kist://a%2G",
    "kist://a%G2", "kist://a%%20", "kist://a%+1", "kist://a b", "kist://é", "kist://a?b",
    "kist://a#b",
    "kist://a@b", "kist://a:1", "kist://%80", "kist://%C3", "kist://%C0%80", "kist://%ED%A0%80",
    "kist://%F4%90%80%80", "kist://a/%FF", "kist://a\n", "kist://a%\u{FF11}\u{FF11}",
  ])
  func `text that is not a reference is refused`(text: String) {
    #expect(CredentialReference(text) == nil)
  }
}
