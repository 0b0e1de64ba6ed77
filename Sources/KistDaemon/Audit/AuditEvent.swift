internal import Glibc
internal import KistCore
internal import KistServer
internal import KistWire

/// A request that waits for the audit log; small, since every load makes one.
struct AuditEvent: Sendable {
  var client: AuditClient
  /// The note, with the ticks of the request and of its answer.
  var note: RequestNotes.Note
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
  // Separate, and the second is clamped, so that no clock makes the sums below overflow.
  private let second: Int64
  /// Add this to a tick for the time since that second.
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

/// The description of a client in each of its audit log lines.
final class AuditClient: Sendable {
  let lines: AuditLines.Client

  init(_ peer: Peer) {
    lines = AuditLines.Client(
      AuditedPeer(
        pid: Int(peer.pid), uid: Int(peer.uid),
        unit: ProcessUnit(cgroup: peer.process.cgroup)?.name,
        claims: peer.process.name.isEmpty ? nil : peer.process.name,
        evidence: peer.process.evidence))
  }
}
