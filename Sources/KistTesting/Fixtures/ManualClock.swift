public import KistCore
private import Synchronization

/// A clock that stands still until it is moved: pass its `now` to a storage.
public final class ManualClock: Sendable {
  private let moment: Mutex<Timestamp>

  /// Makes a clock that stands at a moment.
  public init(_ moment: Timestamp = .sample) { self.moment = Mutex(moment) }

  /// The moment at which it stands.
  public func now() -> Timestamp { moment.withLock { $0 } }

  /// Moves it by a number of seconds, back if it is negative, within the years 0000 to 9999.
  public func advance(bySeconds seconds: Int64) {
    moment.withLock { $0 = $0.advanced(bySeconds: seconds) ?? $0 }
  }
}
