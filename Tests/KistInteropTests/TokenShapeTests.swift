import KistCore
import KistTesting
import Testing

@testable import KistInterop

@Suite(.timeLimit(.minutes(5))) struct `The shape of a token` {
  private static let body = String(repeating: "A7b", count: 64)

  private func kinds(in text: String) -> [String] {
    TokenShape.found(in: Secret(utf8: text)).map { "\($0.shape.kind) \($0.line)" }
  }

  @Test(arguments: [
    ("ghp_", 36, "a GitHub token"), ("github_pat_", 82, "a GitHub token"),
    ("gho_", 36, "a GitHub token"), ("glpat-", 20, "a GitLab token"),
    ("AKIA", 16, "an AWS access key"), ("xoxb-", 17, "a Slack token"),
    ("xoxp-", 28, "a Slack token"), ("sk_live_", 10, "a Stripe key"),
    ("npm_", 36, "an npm token"), ("pypi-AgEIcHlwaS5vcmc", 50, "a PyPI token"),
    ("AGE-SECRET-KEY-1", 58, "an age secret key"), ("hvs.", 90, "a Vault token"),
  ])
  func `is found in a line, and only with enough characters`(
    prefix: String, length: Int, kind: String
  ) {
    let token = prefix + Self.body.prefix(length)
    for text in [token, "a=\"\(token)\"", "Authorization: token \(token)\n", "x:\(token)@host"] {
      #expect(kinds(in: "\n" + text) == ["\(kind) 2"], "\(text)")
    }
    #expect(kinds(in: String(token.dropLast())).isEmpty)
    #expect(kinds(in: "x" + token).isEmpty)
  }

  @Test func `of one kind is reported once, with its first line`() {
    let text = "xoxb-\(Self.body)\nghp_\(Self.body)\ngho_\(Self.body) npm_\(Self.body)\n"
    #expect(kinds(in: text) == ["a Slack token 1", "a GitHub token 2", "an npm token 3"])
  }

  @Test(arguments: ["", "RSA ", "OPENSSH ", "ENCRYPTED "])
  func `of a private key is its header`(kind: String) {
    #expect(kinds(in: "-----BEGIN \(kind)PRIVATE KEY-----\n") == ["a private key 1"])
    #expect(kinds(in: "-----BEGIN \(kind)PUBLIC KEY-----\n").isEmpty)
  }

  @Test func `is also found in text that is not UTF-8`() {
    let bytes: [UInt8] = [0xFF, 0x20] + Array("ghp_\(Self.body)".utf8) + [0, 0xFE]
    #expect(TokenShape.found(in: Secret(copying: bytes.span)).count == 1)
  }
}
