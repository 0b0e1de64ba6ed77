internal import Dispatch
internal import Synchronization

/// Calls `whenQuiet` once after each period without requests; then needs no timer until a request.
final class QuietWatch: Sendable {
  private let time: Duration
  /// When the latest request came, in nanoseconds of `SystemTick`.
  private let latest: Atomic<Int64>
  private let isWatching = Atomic(false)
  private let now: @Sendable () -> SystemTick
  private let sleep: @Sendable (Duration) async -> Void
  private let whenQuiet: @Sendable () async -> Void

  init(
    after time: Duration,
    now: @escaping @Sendable () -> SystemTick = SystemTick.now,
    sleep: @escaping @Sendable (Duration) async -> Void = sleepUnwatched,
    whenQuiet: @escaping @Sendable () async -> Void
  ) {
    self.time = time
    self.now = now
    self.sleep = sleep
    self.whenQuiet = whenQuiet
    latest = Atomic(now().nanoseconds)
  }

  func note() {
    latest.store(now().nanoseconds, ordering: .sequentiallyConsistent)
    if !isWatching.load(ordering: .sequentiallyConsistent) { watch() }
  }

  func isQuiet(for time: Duration) -> Bool {
    timeLeft(of: time, since: latest.load(ordering: .sequentiallyConsistent)) == nil
  }

  private func watch() {
    guard !isWatching.exchange(true, ordering: .sequentiallyConsistent) else { return }
    Task {
      var seen = latest.load(ordering: .sequentiallyConsistent)
      while let rest = timeLeft(of: time, since: seen) {
        await sleep(rest)
        seen = latest.load(ordering: .sequentiallyConsistent)
      }
      isWatching.store(false, ordering: .sequentiallyConsistent)
      // A request that came meanwhile saw a running watch, and did not start another one.
      if latest.load(ordering: .sequentiallyConsistent) == seen {
        await whenQuiet()
      } else {
        watch()
      }
    }
  }

  /// Returns the rest of a time that must pass without requests; `nil` if it is over.
  private func timeLeft(of time: Duration, since seen: Int64) -> Duration? {
    let rest = time - .nanoseconds(now().nanoseconds - seen)
    return rest > .zero ? rest : nil
  }
}

/// Performs a check some time after the first request for it; later requests do not delay it.
final class DelayedCheck: Sendable {
  private let time: Duration
  private let isWaiting = Atomic(false)
  private let sleep: @Sendable (Duration) async -> Void
  private let check: @Sendable () async -> Void

  init(
    after time: Duration, sleep: @escaping @Sendable (Duration) async -> Void = sleepUnwatched,
    check: @escaping @Sendable () async -> Void
  ) {
    self.time = time
    self.sleep = sleep
    self.check = check
  }

  func request() {
    guard !isWaiting.exchange(true, ordering: .sequentiallyConsistent) else { return }
    Task {
      await sleep(time)
      // A request during the check needs another check.
      isWaiting.store(false, ordering: .sequentiallyConsistent)
      await check()
    }
  }
}

/// Waits without the timer that `Task.sleep` causes.
///
/// On Linux, `Task.sleep` uses a thread that libdispatch then watches with a timer. That timer
/// wakes the process every second.
func sleepUnwatched(for duration: Duration) async {
  let nanoseconds = duration / .nanoseconds(1)
  await withCheckedContinuation { continuation in
    // libdispatch does not watch the threads of a private queue.
    DispatchQueue(label: "kist.sleep").asyncAfter(
      deadline: .now() + .nanoseconds(Int(max(nanoseconds, 0)))
    ) {
      continuation.resume()
    }
  }
}

/// Returns `nil` if the task is cancelled before the operation has ended; the operation continues.
func untilCancelled<Result: Sendable>(
  _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
  let (results, result) = AsyncThrowingStream.makeStream(of: Result.self)
  Task {
    do {
      result.yield(try await body())
    } catch {
      result.finish(throwing: error)
    }
  }
  for try await result in results { return result }
  return nil
}
