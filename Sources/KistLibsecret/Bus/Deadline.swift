/// The moment by which a request must be answered.
struct Deadline: Sendable {
  private let instant: ContinuousClock.Instant

  init(after duration: Duration) { instant = .now + duration }

  /// Returns the remaining time; throws if none is left.
  func remaining() throws(BusError) -> Duration {
    let remaining = ContinuousClock.now.duration(to: instant)
    guard remaining > .zero else { throw .timeout }
    return remaining
  }
}
