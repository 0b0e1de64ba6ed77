internal import KistCore
internal import KistServer
internal import KistWire
internal import Logging

/// The audit log: one line for each request, written while kistd continues to serve.
struct AuditLog: Sendable {
  private let queue: AuditQueue
  private let writer: AuditWriter
  private let verification = AuditVerificationQueue()
  private let file: AuditFile
  /// The longest time that a request waits until kistd writes its line.
  private let delay: Duration

  init(_ file: AuditFile, delay: Duration = .milliseconds(500), room: Int = 8192, logger: Logger) {
    self.file = file
    self.delay = delay
    queue = AuditQueue(room: room)
    writer = AuditWriter(queue, file: file, logger: logger)
  }

  /// Creates the log that the options request; `nil` if they turn it off.
  init?(_ options: Options, logger: Logger) {
    guard options.auditSize > 0 else { return nil }
    self.init(AuditFile(path: options.auditFile, limit: options.auditSize), logger: logger)
  }

  /// Returns the notes of a client's requests, which add a line for each.
  func notes(of peer: Peer) -> RequestNotes {
    let client = AuditLineWriter.Client(peer)
    return RequestNotes(now: { SystemTick.now().nanoseconds }) { note in
      put(AuditEvent(client: client, note: note))
    }
  }

  /// Adds a line for a refused connection, or for a refused line that is not a request.
  func put(_ refusal: Refusal, of peer: Peer) {
    switch refusal {
    case .connection(let error): put("connect", of: peer, failure: error.code)
    case .line(let error): put("", of: peer, failure: error.code)
    }
  }

  /// Adds a line for a request that did not come through the protocol.
  func put(
    _ operation: String, of peer: Peer, _ names: RequestedNames? = nil,
    failure: StorageError.Code?, since start: SystemTick = .now()
  ) {
    var note = RequestNotes.Note()
    note.operation = operation
    note.names = names
    note.failure = failure
    note.start = start.nanoseconds
    note.end = SystemTick.now().nanoseconds
    put(AuditEvent(client: AuditLineWriter.Client(peer), note: note))
  }

  private func put(_ event: AuditEvent) {
    switch queue.put(event) {
    case .nothing: return
    case .writeNow: Task { await writer.write() }
    case .writeSoon:
      Task {
        repeat { await sleepUnwatched(for: delay) } while await writer.writeInTime()
      }
    }
  }

  /// Writes all waiting requests, and seals later names with this key.
  func seal(with seal: NameSeal?) async {
    await Task.detached { await writer.seal(with: seal) }.value
  }

  func flush() async { await Task.detached { await writer.write() }.value }

  /// Returns the functions that search and verify the log, including the waiting requests.
  func access(_ seal: NameSeal?) -> AuditAccess {
    AuditAccess(
      find: { query throws(StorageError) in
        // Detached, because the caller's event loop must not wait for files and locks.
        try await Task.detached {
          await writer.write()
          return Result { () throws(StorageError) in try AuditReader(file, seal).page(of: query) }
        }.value.get()
      },
      verify: { () throws(StorageError) in
        guard let seal else {
          throw StorageError(
            .unavailable,
            "kistd cannot verify the audit log, because this storage has no key for it",
            hint: "the encrypted file has one: see `kistd migrate --help`")
        }
        return try await Task.detached {
          await verification.verdict(on: file, writer.writtenChain(), seal)
        }.value.get()
      })
  }
}

/// Verifies the log for one request at a time.
private actor AuditVerificationQueue {
  func verdict(
    on file: AuditFile, _ chain: AuditChain, _ seal: NameSeal
  ) -> Result<AuditVerdict, StorageError> {
    Result { () throws(StorageError) in
      var verifier = try AuditVerifier(file, chain, seal)
      return try verifier.verify()
    }
  }
}

extension OpenStorage {
  /// Returns the same storage; its key seals names in the audit log while the storage has the key.
  ///
  /// Waiting requests are written before the storage is locked or closed.
  func audited(by log: AuditLog?) async -> OpenStorage {
    guard let log else { return self }
    await log.seal(with: nameSeal)
    var storage = self
    storage.access.lock = { [lock = access.lock] () throws(StorageError) in
      await log.flush()
      return try await lock()
    }
    storage.close = { [close] in
      await log.seal(with: nil)
      await close()
    }
    return storage
  }
}

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
  /// Space for one more line, with the longest sealed names and the longest `onBehalfOf`.
  private static let longestLine = 6 << 10

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
    var lines = AuditLineWriter(capacity: block + Self.longestLine, sealedBy: seal)
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
  private func begin(_ lines: inout AuditLineWriter, _ clock: AuditClock) {
    if lines.count == 0, lost > 0 { lines.append(lost: lost, at: clock.moment(of: .now())) }
  }

  /// Writes the lines of this number of requests, or loses them, and empties the block.
  private func write(_ lines: inout AuditLineWriter, of requests: Int) {
    let hash = ChainHash(seal)
    do throws(StorageError) {
      try file.append(&lines.block, to: &chain, under: hash, waiting: !isFailing)
      if isFailing {
        logger.notice("can write the audit log again", metadata: ["lost": "\(lost)"])
      }
      isFailing = false
      lost = 0
      if let hash { writeMark(under: hash) }
    } catch {
      lost += requests
      if !isFailing {
        logger.warning(
          "cannot write the audit log; kistd still serves requests",
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
          "cannot write the mark of the audit log; after a restart, --verify may report a fault",
          metadata: ["reason": "\(error)"])
      }
      isMarkFailing = true
    }
  }
}
