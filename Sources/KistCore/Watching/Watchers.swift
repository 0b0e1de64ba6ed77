private import Synchronization

/// Those who watch a storage.
package final class Watchers: Sendable {
  private struct State {
    var queues: [UInt64: ChangeQueue] = [:]
    var lastNumber: UInt64 = 0
    var end: StorageError?
  }

  private let state = Mutex(State())
  private let count = Atomic(0)

  package init() {}

  /// Whether somebody watches, which costs next to nothing to ask.
  package var areThere: Bool { count.load(ordering: .relaxed) > 0 }

  /// Adds a watcher, until it lets go of the changes; whatever is told from now on, it is told.
  ///
  /// - Parameter position: tells where the storage stands, once the watcher is there.
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

  /// Tells everybody, in this order.
  package func tell(_ changes: [CredentialChange]) {
    guard areThere else { return }
    // Nobody who tells at the same time comes in between.
    state.withLock { state in
      for queue in state.queues.values { queue.put(changes) }
    }
  }

  /// Tells everybody, and whoever comes, that there will be no more changes, and why.
  package func end(_ reason: StorageError) {
    state.withLock { state in
      state.end = reason
      for queue in state.queues.values { queue.end(reason) }
    }
  }

  /// Tells everybody who watches now that there will be no more changes, and why; others may come.
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

/// One who watches, for as long as it is held.
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
