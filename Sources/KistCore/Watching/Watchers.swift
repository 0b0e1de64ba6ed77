private import Synchronization

/// The watchers of a storage.
package final class Watchers: Sendable {
  private struct State {
    var queues: [ObjectIdentifier: ChangeQueue] = [:]
    var end: StorageError?
  }

  private let state = Mutex(State())
  private let count = Atomic(0)

  package init() {}

  /// Whether there are watchers; a very cheap check.
  package var areThere: Bool { count.load(ordering: .relaxed) > 0 }

  /// Adds a watcher of all later changes; it is removed when the returned value is released.
  ///
  /// - Parameter position: returns the current revision of the storage; called after the watcher is
  ///   added.
  package func watch(
    _ request: WatchRequest, position: () throws(StorageError) -> Revision?
  ) throws(StorageError) -> CredentialChanges {
    try check(CredentialQuery(service: request.service))
    let queue = ChangeQueue(of: request)
    try state.withLock { state throws(StorageError) in
      if let end = state.end { throw end }
      state.queues[ObjectIdentifier(queue)] = queue
      count.store(state.queues.count, ordering: .relaxed)
    }
    let watcher = Watcher(queue) { [weak self] in self?.remove(queue) }
    return CredentialChanges(position: try position(), next: watcher.next)
  }

  /// Reports the changes to all watchers, in this order.
  package func tell(_ changes: [CredentialChange]) {
    // The lock keeps the changes of two callers from mixing.
    if areThere { state.withLock { for queue in $0.queues.values { queue.put(changes) } } }
  }

  /// Ends the changes of all present and future watchers with this error.
  package func end(_ reason: StorageError) {
    state.withLock { $0.end = reason }
    dismiss(reason)
  }

  /// Ends the changes of all present watchers with this error; new watchers may still be added.
  package func dismiss(_ reason: StorageError) {
    state.withLock { for queue in $0.queues.values { queue.end(reason) } }
  }

  private func remove(_ queue: ChangeQueue) {
    state.withLock { state in
      state.queues[ObjectIdentifier(queue)] = nil
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
