private import Synchronization

/// The requests that wait to be written, as many as there may be; who puts one in never waits.
final class AuditQueue: Sendable {
  struct Batch: Sendable {
    var events: [AuditEvent] = []
    /// How many there was no room for, after these.
    var lost = 0

    var isEmpty: Bool { events.isEmpty && lost == 0 }
  }

  /// What is to be done once one was put in.
  enum Next { case nothing, writeSoon, writeNow }

  private struct State {
    var waiting = Batch()
    /// Whether somebody will take what waits when it is time to.
    var isDue = false
  }

  /// So many are written at once, before their time: few enough to stay in a processor's cache.
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

  /// Takes all that wait, and leaves room for as many, so that a request seldom waits for memory.
  func take() -> Batch {
    var next = Batch()
    next.events.reserveCapacity(state.withLock { $0.waiting.events.count })
    return state.withLock { state in
      swap(&state.waiting, &next)
      return next
    }
  }

  /// Takes all that wait, as who was asked to do so soon; where none do, the next one asks again.
  func takeInTime() -> Batch {
    let batch = take()
    guard batch.isEmpty else { return batch }
    // One may have come meanwhile.
    return state.withLock { state in
      state.isDue = !state.waiting.isEmpty
      defer { state.waiting = Batch() }
      return state.waiting
    }
  }
}
