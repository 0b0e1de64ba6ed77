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

  /// So many are written at once, before their time.
  private let crowd: Int
  private let room: Int
  private let waiting = Mutex(Batch())

  init(room: Int = 8192) {
    self.room = room
    crowd = max(1, room / 4)
  }

  func put(_ event: AuditEvent) -> Next {
    waiting.withLock { waiting in
      guard waiting.events.count < room else {
        waiting.lost += 1
        return .nothing
      }
      waiting.events.append(event)
      if waiting.events.count == 1, waiting.lost == 0 { return .writeSoon }
      return waiting.events.count == crowd ? .writeNow : .nothing
    }
  }

  /// Takes all that wait, and leaves room for as many, so that a request seldom waits for memory.
  func take() -> Batch {
    var next = Batch()
    next.events.reserveCapacity(waiting.withLock { $0.events.count })
    return waiting.withLock { waiting in
      swap(&waiting, &next)
      return next
    }
  }
}
