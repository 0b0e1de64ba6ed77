internal import KistCore
internal import KistWire
internal import Logging

/// Writes what waits in the queue, one batch after another.
actor AuditWriter {
  private let queue: AuditQueue
  private let file: AuditFile
  private let logger: Logger
  private var seal: NameSeal?
  /// Requests that could not be written since the last line that was.
  private var lost = 0
  private var isFailing = false

  /// Lines are written when there are so many bytes of them: a few hundred, which is few enough to
  /// stay in a processor's cache.
  private let block: Int
  /// Room for one more, with the longest names that are sealed.
  private static let longestLine = 4 << 10

  init(_ queue: AuditQueue, file: AuditFile, logger: Logger) {
    self.queue = queue
    self.file = file
    self.logger = logger
    // With one more line, no more than the file has room for.
    block = min(64 << 10, max(0, file.limit / 2 - Self.longestLine))
  }

  /// Seals names with this from now on, and leaves them out where there is `nil`.
  func seal(with seal: NameSeal?) {
    write()
    self.seal = seal
  }

  /// Writes all that waits.
  func write() { write(queue.take()) }

  /// Writes what waited until it was time to, as long as that is anything: `false` once it is not, when
  /// the next request will say that it is to be written soon.
  func writeInTime() -> Bool {
    let batch = queue.takeInTime()
    write(batch)
    return !batch.isEmpty
  }

  private func write(_ batch: AuditQueue.Batch) {
    guard !batch.isEmpty else { return }
    let clock = AuditClock()
    var lines = AuditLines(capacity: block + Self.longestLine, sealedBy: seal)
    var requests = 0
    // By reference: a copy counts the references of its parts, which costs as much as the words do.
    let events = batch.events.span
    for index in events.indices {
      begin(&lines, clock)
      lines.append(
        events[index].note, of: events[index].client.lines,
        at: clock.moment(of: SystemTick(nanoseconds: events[index].note.start)))
      requests += 1
      if lines.count >= block {
        write(&lines, of: requests)
        requests = 0
      }
    }
    if batch.lost > 0 {
      begin(&lines, clock)
      lines.append(lost: batch.lost, at: clock.moment(of: .now()))
    }
    if lines.count > 0 { write(&lines, of: requests + batch.lost) }
  }

  /// What could not be written is told before anything else.
  private func begin(_ lines: inout AuditLines, _ clock: AuditClock) {
    if lines.count == 0, lost > 0 { lines.append(lost: lost, at: clock.moment(of: .now())) }
  }

  /// Writes lines of so many requests, which are lost where that fails, and begins anew.
  private func write(_ lines: inout AuditLines, of requests: Int) {
    do throws(StorageError) {
      try lines.withBytes { lines throws(StorageError) in
        try file.append(lines, waiting: !isFailing)
      }
      if isFailing {
        logger.notice("the audit log is written again", metadata: ["lost": "\(lost)"])
      }
      isFailing = false
      lost = 0
    } catch {
      lost += requests
      if !isFailing {
        logger.warning(
          "the audit log cannot be written; requests are served without it",
          metadata: ["reason": "\(error)"])
      }
      isFailing = true
    }
    lines.removeAll()
  }
}
