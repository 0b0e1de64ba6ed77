public import KistCore

extension Timestamp {
  /// 2026-11-20T10:00:00Z.
  public static let sample = Timestamp(secondsSinceEpoch: 1_795_168_800)!
}

extension CredentialKey {
  /// Alice at example.org.
  public static let sample = CredentialKey(service: "example.org", account: "alice")
}

extension NewCredential {
  /// Returns a credential for tests; by default, of Alice at example.org.
  public static func sample(
    _ key: CredentialKey = .sample, secret: String = "correct horse", label: String? = nil,
    attributes: Attributes = [:], expiresAt: Timestamp? = nil
  ) -> NewCredential {
    NewCredential(
      key: key, secret: Secret(utf8: secret), label: label, attributes: attributes,
      expiresAt: expiresAt)
  }
}

extension CredentialSummary {
  /// Returns the summary that a storage would return for a save at a moment.
  public static func sample(
    of credential: NewCredential = .sample(), at moment: Timestamp = .sample,
    revision: String = "sample.1"
  ) -> CredentialSummary {
    CredentialSummary(
      of: credential, createdAt: moment, modifiedAt: moment, revision: Revision(rawValue: revision))
  }
}
