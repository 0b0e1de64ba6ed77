public import KistCore
private import Synchronization

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
