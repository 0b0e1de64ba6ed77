private import Synchronization

/// Applies one deadline to many requests, with one timer for all of them.
///
/// A timer per request would stay in the system's queue long after the request was answered.
@usableFromInline package final class DeadlineWatch: Sendable {
  private typealias Watched = (expiresAt: ContinuousClock.Instant, expire: @Sendable () -> Void)

  private struct State {
    var lastNumber: UInt64 = 0
    var watched: [UInt64: Watched] = [:]
    /// The current timer; a replaced timer ends when it wakes up.
    var timer: (number: UInt64, wakesAt: ContinuousClock.Instant)?
  }

  @usableFromInline let deadline: Duration
  private let sleep: @Sendable (Duration) async -> Void
  private let state = Mutex(State())

  package init(_ deadline: Duration, sleep: @escaping @Sendable (Duration) async -> Void) {
    self.deadline = deadline
    self.sleep = sleep
  }

  /// Runs an operation that answers through a closure, and drops an answer that comes too late.
  @inlinable package func over<Output: Sendable>(
    outcome: StorageError.Outcome?, since start: ContinuousClock.Instant = .now,
    _ begin: (_ answer: @escaping @Sendable (Result<Output, StorageError>) -> Void) -> Void
  ) async throws(StorageError) -> Output {
    let deadline = deadline
    let result: Result<Output, StorageError> = await withCheckedContinuation { continuation in
      let number = add(start + deadline) {
        var error = StorageError.timeout(after: deadline)
        error.outcome = outcome
        continuation.resume(returning: .failure(error))
      }
      begin { result in
        if self.remove(number) { continuation.resume(returning: result) }
      }
    }
    return try result.get()
  }

  /// Runs an asynchronous function in a task of its own.
  package func over<Output: Sendable>(
    outcome: StorageError.Outcome?,
    _ body: @escaping @Sendable () async throws(StorageError) -> Output
  ) async throws(StorageError) -> Output {
    // The task starts immediately, on the caller's executor. So a request changes threads only if
    // its storage does that.
    let executor = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor?.asTaskExecutor() }
    return try await over(outcome: outcome) { answer in
      Task.immediate(executorPreference: executor) {
        do throws(StorageError) { answer(.success(try await body())) } catch {
          answer(.failure(error))
        }
      }
    }
  }

  @usableFromInline func add(
    _ expiry: ContinuousClock.Instant, _ expire: @escaping @Sendable () -> Void
  ) -> UInt64 {
    let (number, needsTimer) = state.withLock { state in
      state.lastNumber += 1
      state.watched[state.lastNumber] = (expiry, expire)
      // A request that is added later may expire earlier.
      if let timer = state.timer, timer.wakesAt <= expiry { return (state.lastNumber, false) }
      state.timer = (state.lastNumber, expiry)
      return (state.lastNumber, true)
    }
    if needsTimer { Task { await expireInTime(timer: number) } }
    return number
  }

  /// Stops watching a request and returns whether it was still watched.
  @usableFromInline func remove(_ number: UInt64) -> Bool {
    state.withLock { $0.watched.removeValue(forKey: number) != nil }
  }

  private func expireInTime(timer: UInt64) async {
    while let next = nextExpiry(for: timer) {
      await sleep(ContinuousClock.now.duration(to: next))
      for watched in takeExpired() { watched.expire() }
    }
  }

  /// Returns when the timer must look again; `nil` if it was replaced or no request is watched.
  private func nextExpiry(for timer: UInt64) -> ContinuousClock.Instant? {
    state.withLock { state in
      guard state.timer?.number == timer else { return nil }
      let next = state.watched.values.map(\.expiresAt).min()
      state.timer = next.map { (timer, $0) }
      return next
    }
  }

  private func takeExpired() -> [Watched] {
    let now = ContinuousClock.now
    return state.withLock { state in
      let expired = state.watched.filter { $0.value.expiresAt <= now }
      for number in expired.keys { state.watched[number] = nil }
      return Array(expired.values)
    }
  }
}
