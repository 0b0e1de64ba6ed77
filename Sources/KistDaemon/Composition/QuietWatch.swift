internal import Synchronization

/// Notices when no request has come for a time, once for each time that it becomes quiet; while it is,
/// nothing wakes.
final class QuietWatch: Sendable {
  private let time: Duration
  private let start = ContinuousClock.now
  /// When the latest request came, in nanoseconds from the start on.
  private let latest = Atomic<Int64>(0)
  private let isWatching = Atomic(false)
  private let now: @Sendable () -> ContinuousClock.Instant
  private let sleep: @Sendable (Duration) async -> Void
  private let whenQuiet: @Sendable () async -> Void

  init(
    after time: Duration,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    sleep: @escaping @Sendable (Duration) async -> Void = sleepUnwatched,
    whenQuiet: @escaping @Sendable () async -> Void
  ) {
    self.time = time
    self.now = now
    self.sleep = sleep
    self.whenQuiet = whenQuiet
  }

  /// Notes that a request has come.
  func note() {
    latest.store(start.duration(to: now()).nanoseconds, ordering: .sequentiallyConsistent)
    if !isWatching.load(ordering: .sequentiallyConsistent) { watch() }
  }

  private func watch() {
    guard !isWatching.exchange(true, ordering: .sequentiallyConsistent) else { return }
    Task {
      var seen = latest.load(ordering: .sequentiallyConsistent)
      while let rest = timeLeft(since: seen) {
        await sleep(rest)
        seen = latest.load(ordering: .sequentiallyConsistent)
      }
      isWatching.store(false, ordering: .sequentiallyConsistent)
      // One that came meanwhile has seen that somebody watches.
      if latest.load(ordering: .sequentiallyConsistent) == seen {
        await whenQuiet()
      } else {
        watch()
      }
    }
  }

  /// How long it must stay quiet still; `nil` where it was long enough.
  private func timeLeft(since seen: Int64) -> Duration? {
    let rest = .nanoseconds(seen) + time - start.duration(to: now())
    return rest > .zero ? rest : nil
  }
}

extension Duration {
  fileprivate var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

}
