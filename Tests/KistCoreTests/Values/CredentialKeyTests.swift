import KistCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct CredentialKeyTests {
  private static let distinct = [
    ("", ""), ("a", ""), ("a", "b"), ("a", "bc"), ("ab", ""), ("ab", "c"), ("A", ""), ("a ", ""),
    ("é", ""), ("e\u{301}", ""), ("Å", ""), ("\u{212B}", ""), ("A\u{30A}", ""), ("\u{FF}", ""),
    ("\u{1F511}", ""), ("\u{FFFF}", ""), ("a\0", ""), ("a", "\0"),
  ].map { CredentialKey(service: $0.0, account: $0.1) }

  @Test func `keys of different bytes are different`() {
    for (place, left) in Self.distinct.enumerated() {
      for (other, right) in Self.distinct.enumerated() {
        #expect((left == right) == (place == other))
      }
    }
    #expect(Set(Self.distinct).count == Self.distinct.count)
  }

  @Test func `keys of the same bytes are equal and hash alike`() {
    for key in Self.distinct {
      let copy = CredentialKey(
        service: String(decoding: Array(key.service.utf8), as: UTF8.self),
        account: String(decoding: Array(key.account.utf8), as: UTF8.self))
      #expect(copy == key)
      #expect(copy.hashValue == key.hashValue)
    }
  }

  @Test func `keys are ordered by the bytes of service, then account`() {
    for left in Self.distinct {
      for right in Self.distinct {
        let byBytes = [left, right].map { [Array($0.service.utf8), Array($0.account.utf8)] }
        let isLess =
          byBytes[0][0] == byBytes[1][0]
          ? byBytes[0][1].lexicographicallyPrecedes(byBytes[1][1])
          : byBytes[0][0].lexicographicallyPrecedes(byBytes[1][0])
        #expect((left < right) == isLess)
      }
    }
  }

  @Test func `a query matches by bytes`() {
    let key = CredentialKey(service: "é", account: "Å")
    let summary = CredentialSummary(
      key: key, createdAt: .now(), modifiedAt: .now(), revision: Revision(rawValue: "1"))
    #expect(CredentialQuery(service: "é", account: "Å").matches(summary))
    #expect(!CredentialQuery(service: "e\u{301}").matches(summary))
    #expect(!CredentialQuery(account: "\u{212B}").matches(summary))
    #expect(CredentialQuery(service: "é") != CredentialQuery(service: "e\u{301}"))
    #expect(CredentialQuery(service: "é") == CredentialQuery(service: "é"))
    #expect(CredentialQuery(account: "") != CredentialQuery())
  }
}
