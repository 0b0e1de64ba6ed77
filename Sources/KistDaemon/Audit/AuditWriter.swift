internal import KistCore
internal import KistWire
internal import Logging

/// Writes the requests in the queue, one batch after another.
actor AuditWriter {
  private let queue: AuditQueue
  private let file: AuditFile
  private let logger: Logger
  private var seal: NameSeal?
  private var chain: AuditChain
  /// The requests that could not be written since the last written line.
  private var lost = 0
  private var isFailing = false
  private var isMarkFailing = false

  /// The size at which a block is written; a few hundred lines stay in a processor's cache.
  private let block: Int
  /// Space for one more line, with the longest sealed names.
  private static let longestLine = 4 << 10

  init(_ queue: AuditQueue, file: AuditFile, logger: Logger) {
    self.queue = queue
    self.file = file
    self.logger = logger
    chain = AuditChain(mark: file.mark)
    // So a file that has no room for a block is at least half full, as `AuditVerifier` expects.
    block = min(64 << 10, max(0, file.limit / 4 - 2 * Self.longestLine))
  }

  /// Seals names and chains lines with this key from then on; does neither with `nil`.
  func seal(with seal: NameSeal?) {
    write()
    self.seal = seal
    chain.forgetKey()
  }

  /// Writes all waiting requests, and returns the state of the chain.
  func writtenChain() -> AuditChain {
    write()
    return chain
  }

  func write() { write(queue.take()) }

  /// Writes the due requests; returns `false` if there are none.
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
    // A span, because a copy would count references, which costs as much as making the lines.
    let events = batch.events.span
    for index in events.indices {
      begin(&lines, clock)
      lines.append(
        events[index].note, of: events[index].client,
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

  /// Begins a block with the number of lost requests, if there are any.
  private func begin(_ lines: inout AuditLines, _ clock: AuditClock) {
    if lines.count == 0, lost > 0 { lines.append(lost: lost, at: clock.moment(of: .now())) }
  }

  /// Writes the lines of this number of requests, or loses them, and empties the block.
  private func write(_ lines: inout AuditLines, of requests: Int) {
    let hash = ChainHash(seal)
    do throws(StorageError) {
      try file.append(&lines.block, to: &chain, under: hash, waiting: !isFailing)
      if isFailing {
        logger.notice("the audit log is written again", metadata: ["lost": "\(lost)"])
      }
      isFailing = false
      lost = 0
      if let hash { writeMark(under: hash) }
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

  /// Writes the mark, and reports the first of several failures in a row.
  private func writeMark(under hash: ChainHash) {
    do throws(StorageError) {
      try chain.writeMark(under: hash)
      isMarkFailing = false
    } catch {
      if !isMarkFailing {
        logger.warning(
          "the audit log's mark cannot be written; after a restart, --verify may report a fault",
          metadata: ["reason": "\(error)"])
      }
      isMarkFailing = true
    }
  }
}
