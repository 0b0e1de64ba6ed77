internal import Synchronization

/// Notices when no request has come for a while, once for each time that it becomes quiet; while it is,
/// nothing wakes.
final class QuietWatch: Sendable {
  /// How long it is quiet, and at most twice as long, until that is noticed: by then libdispatch has
  /// ended the threads that had nothing to do for five seconds, whose share of malloc(3)'s memory keeps
  /// whole pages.
  private static let time = Duration.milliseconds(7500)

  private let requests = Atomic(0)
  private let isWatching = Atomic(false)
  private let sleep: @Sendable (Duration) async -> Void
  private let whenQuiet: @Sendable () async -> Void

  init(
    sleep: @escaping @Sendable (Duration) async -> Void = sleepUnwatched,
    whenQuiet: @escaping @Sendable () async -> Void
  ) {
    self.sleep = sleep
    self.whenQuiet = whenQuiet
  }

  /// Notes that a request has come.
  func note() {
    requests.add(1, ordering: .sequentiallyConsistent)
    if !isWatching.load(ordering: .sequentiallyConsistent) { watch() }
  }

  private func watch() {
    guard !isWatching.exchange(true, ordering: .sequentiallyConsistent) else { return }
    Task {
      var seen = 0
      repeat {
        seen = requests.load(ordering: .sequentiallyConsistent)
        await sleep(Self.time)
      } while requests.load(ordering: .sequentiallyConsistent) != seen
      isWatching.store(false, ordering: .sequentiallyConsistent)
      // One that came meanwhile has seen that somebody watches.
      if requests.load(ordering: .sequentiallyConsistent) == seen {
        await whenQuiet()
      } else {
        watch()
      }
    }
  }
}
