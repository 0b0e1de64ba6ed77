internal import Glibc
internal import KistCore
internal import KistWire
package import Logging
internal import NIOCore
internal import Synchronization

/// Admits new connections, and knows all open ones.
///
/// Their number has a limit. At the limit, a new connection evicts (closes) another one: the one
/// whose client loses least (`EvictionCost`). So idle connections cannot keep new clients out.
/// A new connection is refused if every other connection has a request in progress. Connections of
/// other users are always refused. While the server shuts down, it refuses every new connection.
final class Admission: Sendable {
  private struct State {
    var isStopping = false
    var admitted: [ObjectIdentifier: Connection] = [:]
    /// When the last connection ended, or, before any connection, when the server started.
    var emptySince = NIODeadline.now()
  }

  private let server: Server
  private let otherUsersGate: LogGate
  private let evictionGate: LogGate
  private let sequence = SequenceCounter()
  private let state = Mutex(State())

  init(of server: Server) {
    self.server = server
    otherUsersGate = LogGate(interval: server.logInterval)
    evictionGate = LogGate(interval: server.logInterval)
  }

  var count: Int { state.withLock { $0.admitted.count } }

  /// When the last client disconnected; `nil` while a client is connected.
  var emptySince: NIODeadline? { state.withLock { $0.admitted.isEmpty ? $0.emptySince : nil } }

  /// Admits an accepted channel, or refuses and closes it.
  ///
  /// Nothing has been read from the channel yet.
  func admit(_ channel: any Channel) throws -> Connection {
    var peer: Peer?
    do {
      let found = try channel.peer()
      peer = found
      try check(found)
      let connection = try Connection(
        wrapping: channel, peer: found, sequence: sequence, lineLimit: server.lineLimit)
      // This must be the last step. If a later step threw, the caller would not get the connection, and
      // would not call `leave` for it.
      try enter(connection)
      return connection
    } catch {
      if let refusal = error as? StorageError {
        // A new socket has space for the error. A client that has disconnected does not receive it.
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

  /// Admits no more connections, and stops receiving on the open ones.
  ///
  /// The kernel still delivers the bytes that it has received. Then each connection answers its
  /// requests and ends, as if its client had shut down its sending side.
  func stop() {
    shutDown(SHUT_RD)
    let admitted = state.withLock { state in
      state.isStopping = true
      return Array(state.admitted.values)
    }
    for connection in admitted { connection.handler.cancelStream() }
  }

  func disconnectAll() { shutDown(SHUT_RDWR) }

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
      .denied, "this \(server.program) serves only the user that runs it",
      hint: "start a \(server.program) of your own",
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
        hint: server.hintAtMaximum,
        outcome: .unchanged)
      guard let evicted = evictOne(because: reason) else {
        warn("refused a connection: there are too many, all with requests in progress")
        throw reason
      }
      leave(evicted)
      warn("evicted a connection: there are too many")
      server.whenRefused(evicted.peer, .connection(reason))
    }
    state.withLock { $0.admitted[ObjectIdentifier(connection.channel)] = connection }
  }

  /// Evicts the connection whose client loses least, and returns it.
  ///
  /// Returns `nil` if no connection can be evicted.
  private func evictOne(because reason: StorageError) -> Connection? {
    let all = state.withLock { Array($0.admitted.values) }
    var evictable = all.compactMap { connection in
      connection.handler.evictionCost().map { (cost: $0, connection: connection) }
    }
    // Usually, connections that have never sent a request are evicted first. But on a busy machine,
    // a client may not have sent its first request when others connect. So these connections are
    // evicted last if their number is at most a quarter of the limit.
    if evictable.count(where: \.cost.isNothing) <= server.maximumConnections / 4 {
      for index in evictable.indices {
        if case .nothing(let since) = evictable[index].cost {
          evictable[index].cost = .firstRequest(since: since)
        }
      }
    }
    while let least = evictable.indices.min(by: { evictable[$0].cost < evictable[$1].cost }) {
      let connection = evictable.remove(at: least).connection
      if connection.evict(because: reason) { return connection }
    }
    return nil
  }

  private func warn(_ message: Logger.Message) {
    server.logger.warning(
      message, through: evictionGate, ["limit": "\(server.maximumConnections)"])
  }
}

/// Permits one log line for each interval, so that many events do not flood the log.
package final class LogGate: Sendable {
  private struct State {
    var opensAt: NIODeadline?
    var suppressed = 0
  }

  private let interval: TimeAmount
  private let state = Mutex(State())

  package init(interval: Duration = .seconds(10)) { self.interval = TimeAmount(interval) }

  /// Returns `nil` if no line may be written now, and otherwise the number of lines that were
  /// suppressed since the last one.
  package func pass() -> Int? { pass(at: .now()) }

  func pass(at now: NIODeadline) -> Int? {
    state.withLock { state in
      if let opensAt = state.opensAt, now < opensAt {
        state.suppressed += 1
        return nil
      }
      defer { state = State(opensAt: now + interval) }
      return state.suppressed
    }
  }
}

extension Logger {
  /// Logs a warning if the gate permits it, with the number of warnings that it suppressed before.
  package func warning(
    _ message: Message, through gate: LogGate, _ metadata: @autoclosure () -> Metadata
  ) {
    guard let suppressed = gate.pass() else { return }
    warning(
      message, metadata: metadata().merging(["unlogged": "\(suppressed)"]) { first, _ in first })
  }
}

/// What a client loses if its connection is evicted.
///
/// The smallest loss comes first.
enum EvictionCost: Comparable {
  /// Nothing: the client has sent no request yet.
  case nothing(since: SequenceNumber)
  /// Replies that the client has not read for ten seconds.
  case neglectedReplies(since: NIODeadline)
  /// Only the connection: the client has all its replies, and can connect again for its next
  /// request.
  case idle(since: SequenceNumber)
  /// A watch: the client can watch again, but must first read everything again.
  case watch(since: SequenceNumber)
  /// Replies that the client may be reading.
  case replies(since: NIODeadline)
  /// The first request, which the client is probably about to send.
  case firstRequest(since: SequenceNumber)

  var isNothing: Bool { if case .nothing = self { true } else { false } }
}

/// The number of an event on an event loop.
///
/// A later event has a larger number.
typealias SequenceNumber = UInt

/// Numbers the events of an event loop.
///
/// This costs less than a clock.
@safe
final class SequenceCounter: @unchecked Sendable {
  private var latest: SequenceNumber = 0

  func next() -> SequenceNumber {
    latest += 1
    return latest
  }
}

extension LineHandler {
  private static let timeToRead = TimeAmount.seconds(10)

  /// Returns what the client loses if it is evicted; `nil` while a request is in progress.
  ///
  /// Must be called on the event loop.
  func evictionCost(at now: NIODeadline = .now()) -> EvictionCost? {
    if isAnswering, !isStreaming { return nil }
    if hasUnreadReplies {
      return unwrittenSince + Self.timeToRead <= now
        ? .neglectedReplies(since: unwrittenSince) : .replies(since: unwrittenSince)
    }
    if isStreaming { return .watch(since: lastAnsweredAt ?? connectedAt) }
    // The client reads its replies, so the waiting lines will be answered soon.
    if unansweredCount > 0 { return nil }
    return lastAnsweredAt.map { .idle(since: $0) } ?? .nothing(since: connectedAt)
  }

  var hasUnreadReplies: Bool { unwritten > 0 }
}
