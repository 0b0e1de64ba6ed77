private import Synchronization

/// What one watcher was not told yet: at most 1,024 changes, in place of more a `reset`.
final class ChangeQueue: Sendable {
  typealias Next = Result<CredentialChange?, StorageError>

  fileprivate struct State {
    var changes: [CredentialChange] = []
    /// How many of them were taken.
    var taken = 0
    var end: StorageError?
    var waiting: CheckedContinuation<Next, Never>?
  }

  private let request: WatchRequest
  private let state = Mutex(State())

  init(of request: WatchRequest) { self.request = request }

  /// Puts in those that are asked for; never waits.
  func put(_ changes: [CredentialChange]) {
    let (waiting, next) = state.withLock { state in
      for change in changes where request.matches(change) { state.put(change) }
      return state.answer()
    }
    waiting?.resume(returning: next)
  }

  /// Ends the changes behind those that are in.
  func end(_ reason: StorageError) {
    let (waiting, next) = state.withLock { state in
      state.end = reason
      return state.answer()
    }
    waiting?.resume(returning: next)
  }

  /// Waits for the next one; `nil` where the task is cancelled.
  func next() async throws(StorageError) -> CredentialChange? {
    let next = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let next = state.withLock { state -> Next? in
          if let next = state.take() { return next }
          // What cancels a task marks it first.
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
    // Now and then, since each time all that are left are moved.
    if taken == changes.count || taken == Limits.watch {
      changes.removeFirst(taken)
      taken = 0
    }
    return .success(change)
  }

  /// Who waits, if there is something to tell, and what.
  mutating func answer() -> (CheckedContinuation<ChangeQueue.Next, Never>?, ChangeQueue.Next) {
    guard waiting != nil, let next = take() else { return (nil, .success(nil)) }
    defer { waiting = nil }
    return (waiting, next)
  }
}
