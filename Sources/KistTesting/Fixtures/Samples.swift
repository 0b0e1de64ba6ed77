public import KistCore
private import Synchronization

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

/// A clock that only moves when a test moves it.
///
/// Pass its `now` to a storage.
public final class ManualClock: Sendable {
  private let moment: Mutex<Timestamp>

  /// Creates a clock that shows this moment.
  public init(_ moment: Timestamp = .sample) { self.moment = Mutex(moment) }

  /// Returns the clock's moment.
  public func now() -> Timestamp { moment.withLock { $0 } }

  /// Moves the clock by a number of seconds, back if negative, within the years 0000 to 9999.
  public func advance(bySeconds seconds: Int64) {
    moment.withLock { $0 = $0.advanced(bySeconds: seconds) ?? $0 }
  }
}
