internal import Glibc
internal import KistCore
internal import KistWire
package import Logging
internal import NIOCore
internal import Synchronization

/// Admits connections and tracks them, up to a limit.
///
/// At the limit, a new connection evicts one whose client has sent no request yet. Otherwise, it
/// evicts the connection with the oldest last request. So idle connections cannot keep new
/// clients out. A connection is refused only while every other one has a request in progress.
final class Admission: Sendable {
  private struct State {
    var isStopping = false
    var admitted: [ObjectIdentifier: Connection] = [:]
    /// When a connection last ended; before that, when the server started.
    var emptySince = NIODeadline.now()
  }

  private let server: Server
  private let otherUsersGate: LogGate
  private let evictionGate: LogGate
  private let turns = Turns()
  private let state = Mutex(State())

  init(of server: Server) {
    self.server = server
    otherUsersGate = LogGate(interval: server.logInterval)
    evictionGate = LogGate(interval: server.logInterval)
  }

  var count: Int { state.withLock { $0.admitted.count } }

  /// The time since which no client has been connected; `nil` while one is connected.
  var emptySince: NIODeadline? { state.withLock { $0.admitted.isEmpty ? $0.emptySince : nil } }

  /// Admits an accepted channel before anything is read from it, or refuses and closes it.
  func admit(_ channel: any Channel) throws -> Connection {
    var peer: Peer?
    do {
      let found = try channel.peer()
      peer = found
      try check(found)
      let connection = try Connection(wrapping: channel, peer: found, turns: turns)
      // This must be the last step: only a connection that is returned leaves later.
      try enter(connection)
      return connection
    } catch {
      if let refusal = error as? StorageError {
        // A new socket has space for the refusal. A client that has already gone does not get it.
        channel.send(refusal: refusal)
        if let peer { server.whenRefused(peer, .connection(refusal)) }
      }
      channel.close(promise: nil)
      throw error
    }
  }

  func leave(_ connection: Connection) {
    state.withLock { state in
      state.admitted.removeValue(forKey: ObjectIdentifier(connection.channel))
      state.emptySince = .now()
    }
  }

  /// Stops admitting connections and ends the input of the admitted ones.
  ///
  /// The kernel still delivers the bytes that it has received, and then the end of the stream. A
  /// connection treats this like a client that sends nothing more, and finishes its replies.
  func stop() {
    shutDown(SHUT_RD)
    let admitted = state.withLock { state in
      state.isStopping = true
      return Array(state.admitted.values)
    }
    for connection in admitted { connection.lines.cancelStream() }
  }

  func sever() { shutDown(SHUT_RDWR) }

  private func shutDown(_ how: some BinaryInteger) {
    for connection in state.withLock({ Array($0.admitted.values) }) {
      try? connection.channel.withDescriptor { _ = Glibc.shutdown($0, CInt(how)) }
    }
  }

  private func check(_ peer: Peer) throws(StorageError) {
    if server.admits(peer) { return }
    server.logger.warning(
      "refused a connection of another user", through: otherUsersGate,
      ["pid": "\(peer.pid)", "uid": "\(peer.uid)"])
    throw StorageError(
      .denied, "this kistd serves only the user that runs it", hint: "start a kistd of your own",
      outcome: .unchanged)
  }

  private func enter(_ connection: Connection) throws {
    let isFull = try state.withLock { state in
      if state.isStopping { throw ChannelError.ioOnClosedChannel }
      return state.admitted.count >= server.maximumConnections
    }
    if isFull {
      let reason = StorageError(
        .busy,
        "there are too many connections; the limit is \(server.maximumConnections)",
        hint: "connect again, or give kistd a larger --max-connections", outcome: .unchanged)
      guard let evicted = evictOne(because: reason) else {
        warn("refused a connection: there are too many, all with requests under way")
        throw reason
      }
      leave(evicted)
      warn("evicted a connection: there are too many")
      server.whenRefused(evicted.peer, .connection(reason))
    }
    state.withLock { $0.admitted[ObjectIdentifier(connection.channel)] = connection }
  }

  /// Evicts the connection whose client loses least, and returns it.
  private func evictOne(because reason: StorageError) -> Connection? {
    let all = state.withLock { Array($0.admitted.values) }
    var closable = all.compactMap { connection in
      connection.lines.evictionPriority().map { (priority: $0, connection: connection) }
    }
    while let least = closable.indices.min(by: { closable[$0].priority < closable[$1].priority }) {
      let connection = closable.remove(at: least).connection
      if connection.evict(because: reason) { return connection }
    }
    return nil
  }

  private func warn(_ message: Logger.Message) {
    server.logger.warning(
      message, through: evictionGate, ["limit": "\(server.maximumConnections)"])
  }
}

/// Lets one log line through per interval, to limit the log during a flood of events.
package final class LogGate: Sendable {
  private struct State {
    var opensAt: NIODeadline?
    var heldBack = 0
  }

  private let interval: TimeAmount
  private let state = Mutex(State())

  package init(interval: Duration = .seconds(10)) { self.interval = TimeAmount(interval) }

  /// Returns the number of lines held back since the last one, or `nil` if none may be written now.
  package func pass() -> Int? { pass(at: .now()) }

  func pass(at now: NIODeadline) -> Int? {
    state.withLock { state in
      if let opensAt = state.opensAt, now < opensAt {
        state.heldBack += 1
        return nil
      }
      defer { state = State(opensAt: now + interval) }
      return state.heldBack
    }
  }
}

extension Logger {
  /// Logs a warning if the gate lets it through, with the number of those held back.
  package func warning(
    _ message: Message, through gate: LogGate, _ metadata: @autoclosure () -> Metadata
  ) {
    guard let heldBack = gate.pass() else { return }
    warning(
      message, metadata: metadata().merging(["unlogged": "\(heldBack)"]) { first, _ in first })
  }
}

/// The eviction priority of a connection: what its client would lose, least first.
enum EvictionPriority: Comparable {
  /// Nothing: the client has sent no request yet.
  case nothing(since: Turn)
  /// Replies that the client has had time to read.
  case neglectedReplies(since: NIODeadline)
  /// Its place: it has all its replies, and can reconnect for its next request.
  case place(since: Turn)
  /// A watch: the client can watch again, and must read everything again.
  case watch(since: Turn)
  /// Replies that the client may be reading.
  case replies(since: NIODeadline)
}

/// The position of an event in the order of events on an event loop.
typealias Turn = UInt

/// A counter that orders events on one event loop; cheaper than a clock.
@safe
final class Turns: @unchecked Sendable {
  private var latest: Turn = 0

  func next() -> Turn {
    latest += 1
    return latest
  }
}

extension LineHandler {
  private static let patience = TimeAmount.seconds(10)

  /// Returns the eviction priority, on the event loop; `nil` while a line is being answered.
  func evictionPriority(at now: NIODeadline = .now()) -> EvictionPriority? {
    if isAnswering, !isStreaming { return nil }
    if hasUnreadReplies {
      return unwrittenSince + Self.patience <= now
        ? .neglectedReplies(since: unwrittenSince) : .replies(since: unwrittenSince)
    }
    if isStreaming { return .watch(since: answered ?? connected) }
    // While there is space for replies, every received line is about to be answered.
    if unanswered > 0 { return nil }
    return answered.map { .place(since: $0) } ?? .nothing(since: connected)
  }

  var hasUnreadReplies: Bool { unwritten > 0 }
}
