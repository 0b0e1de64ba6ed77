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

  init(_ queue: AuditQueue, file: AuditFile, logger: Logger) {
    self.queue = queue
    self.file = file
    self.logger = logger
  }

  /// Seals names with this from now on, and leaves them out where there is `nil`.
  func seal(with seal: NameSeal?) {
    write()
    self.seal = seal
  }

  /// Writes all that waits.
  func write() {
    let batch = queue.take()
    guard !batch.isEmpty else { return }
    let clock = AuditClock()
    var lines = WipedBytes(capacity: 512 * (batch.events.count + 1))
    if lost > 0 { lines.append(lineOf(lost: lost, clock)) }
    for event in batch.events {
      let line = AuditLine.text(of: event.record(clock), event.names, sealedBy: seal)
      line.withBytes { lines.append($0) }
    }
    if batch.lost > 0 { lines.append(lineOf(lost: batch.lost, clock)) }
    do throws(StorageError) {
      try lines.withBytes { lines throws(StorageError) in try file.append(lines) }
      if isFailing {
        logger.notice("the audit log is written again", metadata: ["lost": "\(lost)"])
      }
      isFailing = false
      lost = 0
    } catch {
      lost += batch.events.count + batch.lost
      if !isFailing {
        logger.warning(
          "the audit log cannot be written; requests are served without it",
          metadata: ["reason": "\(error)"])
      }
      isFailing = true
    }
  }

  private func lineOf(lost count: Int, _ clock: AuditClock) -> Secret {
    AuditLine.text(
      of: AuditRecord(moment: clock.moment(of: .now()), event: .lost(count)), nil, sealedBy: nil)
  }
}

extension WipedBytes {
  fileprivate mutating func append(_ text: Secret) { text.withBytes { append($0) } }
}
