private import Synchronization

/// The requests that wait to be written, up to a limit; adding one never waits.
final class AuditQueue: Sendable {
  struct Batch: Sendable {
    var events: [AuditEvent] = []
    /// The number of later requests that exceeded the limit.
    var lost = 0

    var isEmpty: Bool { events.isEmpty && lost == 0 }
  }

  /// The action that the caller must take after adding a request.
  enum Next { case nothing, writeSoon, writeNow }

  private struct State {
    var waiting = Batch()
    /// Whether a task will take the waiting requests in time.
    var isDue = false
  }

  /// The number of requests that are written at once, early.
  ///
  /// They are few enough to stay in a processor's cache.
  private let crowd: Int
  private let room: Int
  private let state = Mutex(State())

  init(room: Int = 8192) {
    self.room = room
    crowd = max(1, min(512, room / 4))
  }

  func put(_ event: AuditEvent) -> Next {
    state.withLock { state in
      guard state.waiting.events.count < room else {
        state.waiting.lost += 1
        return .nothing
      }
      state.waiting.events.append(event)
      if state.waiting.events.count == crowd { return .writeNow }
      defer { state.isDue = true }
      return state.isDue ? .nothing : .writeSoon
    }
  }

  /// Takes all waiting requests, and reserves space for as many again.
  ///
  /// So a request seldom waits for memory.
  func take() -> Batch {
    var next = Batch()
    next.events.reserveCapacity(state.withLock { $0.waiting.events.count })
    return state.withLock { state in
      swap(&state.waiting, &next)
      return next
    }
  }

  /// Takes all waiting requests for the task that `writeSoon` started.
  ///
  /// If there are none, the next request starts a task again.
  func takeInTime() -> Batch {
    let batch = take()
    guard batch.isEmpty else { return batch }
    // A request may have come meanwhile.
    return state.withLock { state in
      state.isDue = !state.waiting.isEmpty
      defer { state.waiting = Batch() }
      return state.waiting
    }
  }
}
