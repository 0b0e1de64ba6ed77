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
  private let whenMoved: @Sendable (Timestamp) -> Void

  /// Creates a clock that shows this moment.
  ///
  /// - Parameter whenMoved: is called with each later moment.
  public init(
    _ moment: Timestamp = .sample, whenMoved: @escaping @Sendable (Timestamp) -> Void = { _ in }
  ) {
    self.moment = Mutex(moment)
    self.whenMoved = whenMoved
  }

  /// Returns the clock's moment.
  public func now() -> Timestamp { moment.withLock { $0 } }

  /// Moves the clock by a number of seconds, back if negative, within the years 0000 to 9999.
  public func advance(bySeconds seconds: Int64) {
    moment.withLock {
      $0 = $0.advanced(bySeconds: seconds) ?? $0
      whenMoved($0)
    }
  }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers in every run, so that failures are
/// repeatable.
package struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  package init(_ seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns text of up to this many scalars from all of Unicode, many of them ASCII.
  package mutating func text(upTo count: Int) -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0...count, using: &self) {
      let bound: UInt32 = [0x7F, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF].randomElement(using: &self)!
      if let scalar = Unicode.Scalar(UInt32.random(in: 0...bound, using: &self)) {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// Returns up to this many bytes; all values are equally likely.
  package mutating func bytes(upTo count: Int) -> [UInt8] {
    (0..<Int.random(in: 0...count, using: &self)).map { _ in
      UInt8.random(in: .min ... .max, using: &self)
    }
  }
}
