private import Synchronization

/// The changes that one watcher has not received yet.
///
/// It holds at most 1,024 changes; when more come, one `reset` replaces them.
final class ChangeQueue: Sendable {
  typealias Next = Result<CredentialChange?, StorageError>

  fileprivate struct State {
    var changes: [CredentialChange] = []
    /// The number of changes that were taken.
    var taken = 0
    var end: StorageError?
    var waiting: CheckedContinuation<Next, Never>?
  }

  private let request: WatchRequest
  private let state = Mutex(State())

  init(of request: WatchRequest) { self.request = request }

  /// Adds the changes that the watcher asked for; never waits.
  func put(_ changes: [CredentialChange]) {
    let (waiting, next) = state.withLock { state in
      for change in changes where request.matches(change) { state.put(change) }
      return state.answer()
    }
    waiting?.resume(returning: next)
  }

  /// Ends the sequence after the changes that are queued.
  func end(_ reason: StorageError) {
    let (waiting, next) = state.withLock { state in
      state.end = reason
      return state.answer()
    }
    waiting?.resume(returning: next)
  }

  /// Waits for the next change; returns `nil` when the task is cancelled.
  func next() async throws(StorageError) -> CredentialChange? {
    let next = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let next = state.withLock { state -> Next? in
          if let next = state.take() { return next }
          // A task is marked as cancelled before its cancellation handler runs.
          if Task.isCancelled { return .success(nil) }
          precondition(state.waiting == nil, "one task at a time waits for changes")
          state.waiting = continuation
          return nil
        }
        if let next { continuation.resume(returning: next) }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        defer { state.waiting = nil }
        return state.waiting
      }
      waiting?.resume(returning: .success(nil))
    }
    return try next.get()
  }
}

extension ChangeQueue.State {
  mutating func put(_ change: CredentialChange) {
    if change == .reset, taken < changes.count, changes.last == .reset { return }
    if changes.count - taken == Limits.watch {
      changes = [.reset]
      taken = 0
      if change == .reset { return }
    }
    changes.append(change)
  }

  mutating func take() -> ChangeQueue.Next? {
    guard taken < changes.count else { return end.map { .failure($0) } }
    let change = changes[taken]
    taken += 1
    // Not after each change, because removing moves all the remaining ones.
    if taken == changes.count || taken == Limits.watch {
      changes.removeFirst(taken)
      taken = 0
    }
    return .success(change)
  }

  /// Returns the waiting task and its next result, if both exist.
  mutating func answer() -> (CheckedContinuation<ChangeQueue.Next, Never>?, ChangeQueue.Next) {
    guard waiting != nil, let next = take() else { return (nil, .success(nil)) }
    defer { waiting = nil }
    return (waiting, next)
  }
}
