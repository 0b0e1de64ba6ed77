package import KistCore

/// The shape of a well-known kind of token: a fixed beginning, and enough characters after it.
///
/// The beginnings and lengths are those of the rules of gitleaks 8, config/gitleaks.toml
/// (https://github.com/gitleaks/gitleaks), without the rules that need a keyword beside the token.
package struct TokenShape: Sendable {
  /// What the token is, such as `a GitHub token`.
  package let kind: String
  /// The arguments of `kist save` for such a token.
  package let name: String
  fileprivate let prefix: StaticString
  /// The minimum number of bytes after the prefix.
  fileprivate let length: Int

  private init(_ kind: String, _ name: String, _ prefix: StaticString, _ length: Int) {
    (self.kind, self.name, self.prefix, self.length) = (kind, name, prefix, length)
  }

  private static let github = [
    ("ghp_", 36), ("gho_", 36), ("ghu_", 36), ("ghs_", 36), ("ghr_", 36), ("github_pat_", 82),
  ].map { (prefix: StaticString, length: Int) in
    TokenShape("a GitHub token", "https://github.com USER", prefix, length)
  }

  private static let gitlab = [
    ("glpat-", 20), ("gldt-", 20), ("glrt-", 20), ("glptt-", 40), ("glcbt-", 20), ("gloas-", 64),
  ].map { (prefix: StaticString, length: Int) in
    TokenShape("a GitLab token", "https://gitlab.com USER", prefix, length)
  }

  private static let slack = [("xoxb-", 17), ("xoxp-", 28), ("xoxe-", 28), ("xapp-", 20)].map {
    (prefix: StaticString, length: Int) in
    TokenShape("a Slack token", "slack.com WORKSPACE", prefix, length)
  }

  /// All shapes.
  package static let all: [TokenShape] =
    github + gitlab + slack + [
      TokenShape("an AWS access key", "aws:PROFILE KEYID", "AKIA", 16),
      TokenShape("an AWS access key", "aws:PROFILE KEYID", "ASIA", 16),
      TokenShape("a Stripe key", "stripe.com", "sk_live_", 10),
      TokenShape("a Stripe key", "stripe.com", "rk_live_", 10),
      TokenShape("an npm token", "registry.npmjs.org", "npm_", 36),
      TokenShape(
        "a PyPI token", "https://upload.pypi.org/legacy/ __token__", "pypi-AgEIcHlwaS5vcmc", 50),
      TokenShape("a RubyGems token", "rubygems.org", "rubygems_", 48),
      TokenShape("an age secret key", "age", "AGE-SECRET-KEY-1", 58),
      TokenShape("a Vault token", "vault", "hvs.", 90),
      TokenShape("a DigitalOcean token", "digitalocean.com", "dop_v1_", 64),
      TokenShape("a Hugging Face token", "huggingface.co", "hf_", 34),
      TokenShape("an Anthropic key", "anthropic.com", "sk-ant-", 90),
      TokenShape("an OpenAI key", "openai.com", "sk-proj-", 58),
      TokenShape("a Google API key", "googleapis.com", "AIza", 35),
      TokenShape("a Grafana token", "grafana", "glsa_", 41),
      TokenShape("a Pulumi token", "pulumi.com", "pul-", 40),
      TokenShape("a Shopify token", "shopify.com", "shpat_", 32),
      TokenShape("a private key", "SERVICE", "-----BEGIN ", 16),
    ]
}

extension TokenShape {
  /// The shapes that begin with each byte, so that most bytes of a text are compared with none.
  private static let byFirstByte: [[TokenShape]] = (0...255).map { byte in
    all.filter { $0.prefix.withUTF8Buffer { prefix in unsafe prefix[0] == UInt8(byte) } }
  }

  /// Returns the shapes of the tokens in a text, each with the number of its first line.
  package static func found(in text: Secret) -> [(shape: TokenShape, line: Int)] {
    var found: [(shape: TokenShape, line: Int)] = []
    let byFirstByte = byFirstByte
    try? text.forEachLine { (line, number) throws(StorageError) in
      for offset in line.indices {
        let shapes = byFirstByte[Int(line[offset])]
        guard !shapes.isEmpty, offset == 0 || !isAlphanumeric(line[offset - 1], or: "_") else {
          continue
        }
        let rest = line.extracting(offset...)
        guard let shape = shapes.first(where: { $0.fits(rest) }),
          !found.contains(where: { $0.shape.kind == shape.kind })
        else { continue }
        found.append((shape, number))
      }
    }
    return found
  }

  private static let longestLabel = 64

  private func fits(_ rest: Span<UInt8>) -> Bool {
    guard rest.hasPrefix(prefix) else { return false }
    let body = rest.extracting(prefix.utf8CodeUnitCount...)
    // RFC 7468: the label of a private key ends with these words.
    // No label is longer, and a search to the end of the line would take quadratic time.
    if kind == "a private key" {
      return body.extracting(..<min(body.count, Self.longestLabel)).contains("PRIVATE KEY")
    }
    var count = 0
    while count < body.count, count < length, isAlphanumeric(body[count], or: "_-") { count += 1 }
    return count == length
  }
}

extension Span<UInt8> {
  fileprivate func contains(_ word: StaticString) -> Bool {
    indices.contains { extracting($0...).hasPrefix(word) }
  }
}
