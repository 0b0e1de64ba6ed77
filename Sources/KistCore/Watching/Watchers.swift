private import Synchronization

/// The watchers of a storage.
package final class Watchers: Sendable {
  private struct State {
    var queues: [UInt64: ChangeQueue] = [:]
    var lastNumber: UInt64 = 0
    var end: StorageError?
  }

  private let state = Mutex(State())
  private let count = Atomic(0)

  package init() {}

  /// Whether there are watchers; a very cheap check.
  package var areThere: Bool { count.load(ordering: .relaxed) > 0 }

  /// Adds a watcher until it releases its changes.
  ///
  /// It receives every change that is reported from now on.
  ///
  /// - Parameter position: returns the current revision of the storage; called after the watcher is
  ///   added.
  package func watch(
    _ request: WatchRequest, position: () throws(StorageError) -> Revision?
  ) throws(StorageError) -> CredentialChanges {
    try check(CredentialQuery(service: request.service))
    let queue = ChangeQueue(of: request)
    let number = try state.withLock { state throws(StorageError) in
      if let end = state.end { throw end }
      state.lastNumber += 1
      state.queues[state.lastNumber] = queue
      count.store(state.queues.count, ordering: .relaxed)
      return state.lastNumber
    }
    let watcher = Watcher(queue) { [weak self] in self?.remove(number) }
    return CredentialChanges(position: try position(), next: watcher.next)
  }

  /// Reports the changes to all watchers, in this order.
  package func tell(_ changes: [CredentialChange]) {
    guard areThere else { return }
    // The lock keeps the changes of two callers from mixing.
    state.withLock { state in
      for queue in state.queues.values { queue.put(changes) }
    }
  }

  /// Ends the changes of all present and future watchers with this error.
  package func end(_ reason: StorageError) {
    state.withLock { state in
      state.end = reason
      for queue in state.queues.values { queue.end(reason) }
    }
  }

  /// Ends the changes of all present watchers with this error; new ones may still be added.
  package func dismiss(_ reason: StorageError) {
    state.withLock { state in
      for queue in state.queues.values { queue.end(reason) }
    }
  }

  private func remove(_ number: UInt64) {
    state.withLock { state in
      state.queues[number] = nil
      count.store(state.queues.count, ordering: .relaxed)
    }
  }
}

/// A watcher that is removed when this object is released.
private final class Watcher: Sendable {
  private let queue: ChangeQueue
  private let leave: @Sendable () -> Void

  init(_ queue: ChangeQueue, leave: @escaping @Sendable () -> Void) {
    self.queue = queue
    self.leave = leave
  }

  deinit { leave() }

  func next() async throws(StorageError) -> CredentialChange? { try await queue.next() }
}
