internal import KistCore
private import Synchronization

/// Changes that wait for a command to end: the latest of each key, in the order in which the keys
/// came.
///
/// A `reset` replaces all waiting changes and those after it, because a watcher then reads
/// everything again. If there are more keys than the limit of a watcher's queue, a `reset` replaces
/// them too.
final class WaitingChanges: Sendable {
  private struct State {
    var changes: [CredentialChange] = []
    var isOver = false
    var end: StorageError?
    var whenThere: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func put(_ change: CredentialChange) {
    wake { state in
      if state.changes == [.reset] { return }
      state.changes.removeAll { $0.key == change.key }
      if change == .reset || state.changes.count == Limits.watch {
        state.changes = [.reset]
      } else {
        state.changes.append(change)
      }
    }
  }

  /// Ends the changes after those that wait.
  func end(_ reason: StorageError?) {
    wake { state in
      state.isOver = true
      state.end = reason
    }
  }

  /// Waits for the next change, for one task; returns `nil` if there are no more.
  func next() async throws(StorageError) -> CredentialChange? {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        let isThere = state.isOver || !state.changes.isEmpty
        if !isThere { state.whenThere = continuation }
        return isThere
      }
      if isThere { continuation.resume() }
    }
    return try state.withLock { state throws(StorageError) in
      if !state.changes.isEmpty { return state.changes.removeFirst() }
      if let end = state.end { throw end }
      return nil
    }
  }

  private func wake(_ body: (inout State) -> Void) {
    let waiting = state.withLock { state in
      body(&state)
      defer { state.whenThere = nil }
      return state.whenThere
    }
    waiting?.resume()
  }
}
