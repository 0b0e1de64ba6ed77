private import Synchronization

/// The changes that one watcher has not received yet: at most 1,024, then one `reset`.
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
    update { state in
      for change in changes where request.matches(change) { state.put(change) }
    }
  }

  /// Ends the sequence after the changes that are queued.
  func end(_ reason: StorageError) { update { $0.end = reason } }

  /// Updates the state, and resumes the waiting task if its next result exists then.
  private func update(_ body: (inout State) -> Void) {
    let resume = state.withLock { state -> (() -> Void)? in
      body(&state)
      guard let waiting = state.waiting, let next = state.take() else { return nil }
      state.waiting = nil
      return { waiting.resume(returning: next) }
    }
    resume?()
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
}
