internal import KistCore
private import Synchronization

/// Changes that wait for a command to end: of each key the latest, in the order in which the keys came.
///
/// A `reset` stands for all that wait, before it and behind it, since whoever reads anew reads those, too;
/// so it does for more keys than a watcher's queue has room for.
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

  /// Ends the changes behind those that wait.
  func end(_ reason: StorageError?) {
    wake { state in
      state.isOver = true
      state.end = reason
    }
  }

  /// Waits for the next one, for one task; `nil` when there are no more.
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
