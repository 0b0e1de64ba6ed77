internal import Glibc
internal import KistCore
internal import KistWire

/// A request that waits to be written to the audit log; small, since a load makes one.
struct AuditEvent: Sendable {
  var client: AuditClient
  /// With the ticks of when it came and when it was answered.
  var note: RequestNotes.Note
}

/// Nanoseconds since the system started, sleep included.
struct SystemTick: Sendable {
  var nanoseconds: Int64

  static func now() -> SystemTick { SystemTick(nanoseconds: read(CLOCK_BOOTTIME)) }
}

/// Tells the moment of a tick, as the system's clock stands.
struct AuditClock: Sendable {
  private let startOfSystem: Int64

  init() {
    startOfSystem = read(CLOCK_REALTIME) - read(CLOCK_BOOTTIME)
  }

  func moment(of tick: SystemTick) -> AuditRecord.Moment {
    let milliseconds = max(0, (startOfSystem + tick.nanoseconds) / 1_000_000)
    return AuditRecord.Moment(
      second: Timestamp(clamping: milliseconds / 1000), milliseconds: Int(milliseconds % 1000))
  }
}

private func read(_ clock: CInt) -> Int64 {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
