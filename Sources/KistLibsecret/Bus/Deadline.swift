/// The moment by which a request must be answered.
struct Deadline: Sendable {
  private let instant: ContinuousClock.Instant

  init(after duration: Duration) { instant = .now + duration }

  /// What is left of the time; throws when nothing is.
  func remaining() throws(BusError) -> Duration {
    let remaining = ContinuousClock.now.duration(to: instant)
    guard remaining > .zero else { throw .timeout }
    return remaining
  }
}
