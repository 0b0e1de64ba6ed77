internal import Glibc
internal import KistCore
internal import KistServer
internal import KistSystem
internal import KistWire
private import Synchronization

/// A request that waits for the audit log; its size is small, since every load makes one.
struct AuditEvent: Sendable {
  var client: AuditLineWriter.Client
  /// The note, with the ticks of the request and of its answer.
  var note: RequestNotes.Note
}

extension AuditLineWriter.Client {
  init(_ peer: Peer) {
    self.init(
      AuditedPeer(
        pid: Int(peer.pid), uid: Int(peer.uid),
        unit: ProcessUnit(cgroup: peer.process.cgroup)?.name,
        claimedName: peer.process.name.isEmpty ? nil : peer.process.name,
        evidence: peer.process.evidence))
  }
}

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

  /// The number of waiting requests that are written early; so many fit into a processor's cache.
  private let crowd: Int
  private let room: Int
  private let state = Mutex(State())

  init(room: Int) {
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

  /// Takes all waiting requests, and reserves memory so that adding more requests rarely allocates.
  func take() -> Batch {
    var next = Batch()
    next.events.reserveCapacity(state.withLock { $0.waiting.events.count })
    return state.withLock { state in
      swap(&state.waiting, &next)
      return next
    }
  }

  /// Takes all waiting requests; if there are none, the next request is answered `writeSoon`.
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

/// Nanoseconds since the system started, sleep included.
struct SystemTick: Sendable {
  var nanoseconds: Int64

  static func now() -> SystemTick {
    let time = read(CLOCK_BOOTTIME)
    return SystemTick(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}

/// Converts a tick to a moment of the system's clock.
struct AuditClock: Sendable {
  // The second is separate and clamped, so that no clock makes the sums below overflow.
  private let second: Int64
  /// Add this to a tick to get the time since that second.
  private let nanoseconds: Int64

  init(time: timespec = read(CLOCK_REALTIME), tick: SystemTick = .now()) {
    second = Timestamp(clamping: max(0, Int64(time.tv_sec))).secondsSinceEpoch
    nanoseconds = Int64(time.tv_nsec) - tick.nanoseconds
  }

  /// Returns the moment, clamped to the years from 1970 to 9999.
  func moment(of tick: SystemTick) -> AuditRecord.Moment {
    let nanoseconds = nanoseconds + tick.nanoseconds
    // Rounded down, because a request came before the clock was read.
    let seconds = (nanoseconds - (nanoseconds < 0 ? 999_999_999 : 0)) / 1_000_000_000
    return AuditRecord.Moment(
      second: Timestamp(clamping: max(0, second + seconds)),
      milliseconds: Int((nanoseconds - seconds * 1_000_000_000) / 1_000_000))
  }
}

private func read(_ clock: CInt) -> timespec {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return time
}
