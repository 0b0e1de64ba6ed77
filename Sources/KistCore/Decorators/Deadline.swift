private import Synchronization

extension UserStorage {
  /// Answers `timeout` to a change or a search that takes longer than the deadline.
  ///
  /// What was begun goes on: the outcome of a change is `unknown`. A load is left as it is, because
  /// a load that hits never waits and should not pay for a watch; a storage whose loads may wait
  /// bounds them itself.
  package func withDeadline(
    _ deadline: Duration, sleep: @escaping @Sendable (Duration) async -> Void
  ) -> UserStorage {
    let watch = DeadlineWatch(deadline, sleep: sleep)
    var storage = self
    storage.save = { request throws(StorageError) in
      try await watch.over(outcome: .unknown) { () async throws(StorageError) in
        try await save(request)
      }
    }
    storage.delete = { request throws(StorageError) in
      try await watch.over(outcome: .unknown) { () async throws(StorageError) in
        try await delete(request)
      }
    }
    storage.find = { query throws(StorageError) in
      try await watch.over(outcome: nil) { () async throws(StorageError) in try await find(query) }
    }
    return storage
  }
}

/// Watches over requests that all have the same time, with one timer for all of them.
///
/// A timer per request would stay in the system's queue long after the request was answered.
private final class DeadlineWatch: Sendable {
  private struct Watched {
    var expiresAt: ContinuousClock.Instant
    var expire: @Sendable () -> Void
  }

  private struct State {
    var lastNumber: UInt64 = 0
    var watched: [UInt64: Watched] = [:]
    var isTimerRunning = false
  }

  private let deadline: Duration
  private let sleep: @Sendable (Duration) async -> Void
  private let state = Mutex(State())

  init(_ deadline: Duration, sleep: @escaping @Sendable (Duration) async -> Void) {
    self.deadline = deadline
    self.sleep = sleep
  }

  func over<Output: Sendable>(
    outcome: StorageError.Outcome?,
    _ body: @escaping @Sendable () async throws(StorageError) -> Output
  ) async throws(StorageError) -> Output {
    let deadline = deadline
    // It begins at once and goes on where the caller runs, so that only the storage changes threads.
    let executor = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor?.asTaskExecutor() }
    let result: Result<Output, StorageError> = await withCheckedContinuation { continuation in
      let number = add {
        var error = StorageError.timeout(after: deadline)
        error.outcome = outcome
        continuation.resume(returning: .failure(error))
      }
      Task.immediate(executorPreference: executor) {
        let result: Result<Output, StorageError>
        do throws(StorageError) { result = .success(try await body()) } catch {
          result = .failure(error)
        }
        if self.remove(number) { continuation.resume(returning: result) }
      }
    }
    return try result.get()
  }

  private func add(_ expire: @escaping @Sendable () -> Void) -> UInt64 {
    let (number, needsTimer) = state.withLock { state in
      state.lastNumber += 1
      state.watched[state.lastNumber] = Watched(expiresAt: .now + deadline, expire: expire)
      defer { state.isTimerRunning = true }
      return (state.lastNumber, !state.isTimerRunning)
    }
    if needsTimer { Task { await expireInTime() } }
    return number
  }

  /// Whether it was still watched.
  private func remove(_ number: UInt64) -> Bool {
    state.withLock { $0.watched.removeValue(forKey: number) != nil }
  }

  private func expireInTime() async {
    while let next = nextExpiry() {
      await sleep(ContinuousClock.now.duration(to: next))
      for watched in takeExpired() { watched.expire() }
    }
  }

  /// When the timer must look again; ends the timer when nothing is watched.
  private func nextExpiry() -> ContinuousClock.Instant? {
    state.withLock { state in
      let next = state.watched.values.map(\.expiresAt).min()
      state.isTimerRunning = next != nil
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
