internal import KistCore
internal import KistServer
internal import KistWire
internal import Logging

/// Who did what: a line for each request, written beside the service.
struct AuditLog: Sendable {
  private let queue: AuditQueue
  private let writer: AuditWriter
  private let file: AuditFile
  /// How long a request waits at most until it is written.
  private let delay: Duration

  init(_ file: AuditFile, delay: Duration = .milliseconds(500), room: Int = 8192, logger: Logger) {
    self.file = file
    self.delay = delay
    queue = AuditQueue(room: room)
    writer = AuditWriter(queue, file: file, logger: logger)
  }

  /// The log that is asked for; `nil` where none is.
  init?(_ options: Options, logger: Logger) {
    guard options.auditSize > 0 else { return nil }
    self.init(AuditFile(path: options.auditFile, limit: options.auditSize), logger: logger)
  }

  /// Notes of the requests of a client, which leave a line of each.
  func notes(of peer: Peer) -> RequestNotes {
    let client = AuditClient(peer)
    return RequestNotes(now: { SystemTick.now().nanoseconds }) { note in
      put(AuditEvent(client: client, note: note))
    }
  }

  /// Leaves a line of what was refused before it was a request.
  func put(_ refusal: Refusal, of peer: Peer) {
    switch refusal {
    case .connection(let error): put("connect", of: peer, failure: error.code)
    case .line(let error): put("", of: peer, failure: error.code)
    }
  }

  /// Leaves a line of a request that came another way.
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
    put(AuditEvent(client: AuditClient(peer), note: note))
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

  /// Writes all that waits, and seals names with this from then on.
  func seal(with seal: NameSeal?) async { await writer.seal(with: seal) }

  /// Writes all that waits.
  func flush() async { await writer.write() }

  /// Looks up what is written, what waits included, and opens the names with this.
  func lookup(_ seal: NameSeal?) -> AuditLookup {
    { query throws(StorageError) in
      await writer.write()
      // On the tasks' pool: whoever asks runs on the loop that serves.
      let reading = Task.detached { [file] in
        Result { () throws(StorageError) in try AuditReader(file, seal).page(of: query) }
      }
      return try await reading.value.get()
    }
  }
}
