internal import Glibc
internal import KistCore
internal import KistWire
internal import Logging
internal import NIOCore
internal import Synchronization

/// Admits connections and tracks them, up to a limit.
///
/// At the limit, a new connection evicts one whose client has sent no request yet. If there is
/// none, it evicts the one whose last request is the oldest. So idle connections cannot keep new
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

  /// The number of admitted connections.
  var count: Int { state.withLock { $0.admitted.count } }

  /// The time since which no client has been connected; `nil` while one is connected.
  var emptySince: NIODeadline? {
    state.withLock { $0.admitted.isEmpty ? $0.emptySince : nil }
  }

  /// Admits an accepted channel before anything is read from it, or refuses and closes it.
  func admit(_ channel: any Channel) throws -> Connection {
    var peer: Peer?
    do {
      let found = try channel.peer()
      peer = found
      try check(found)
      let connection = try Connection(wrapping: channel, peer: found, turns: turns)
      // Comes last: a connection that has entered must be returned, so that it leaves later.
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

  /// Removes a connection whose last line was answered.
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

  /// Cuts the remaining connections.
  func sever() { shutDown(SHUT_RDWR) }

  private func shutDown(_ how: some BinaryInteger) {
    for connection in state.withLock({ Array($0.admitted.values) }) {
      try? connection.channel.withDescriptor { _ = Glibc.shutdown($0, CInt(how)) }
    }
  }

  private func check(_ peer: Peer) throws(StorageError) {
    if server.admits(peer) { return }
    if let heldBack = otherUsersGate.pass() {
      server.logger.warning(
        "refused a connection of another user",
        metadata: ["pid": "\(peer.pid)", "uid": "\(peer.uid)", "unlogged": "\(heldBack)"])
    }
    throw StorageError(
      .denied, "this daemon serves the user that runs it only", hint: "start a kistd of your own",
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
        "no more connections are served at once than the limit, \(server.maximumConnections)",
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
    // The first attempt nearly always succeeds.
    while let least = closable.indices.min(by: { closable[$0].priority < closable[$1].priority }) {
      let connection = closable.remove(at: least).connection
      if connection.evict(because: reason) { return connection }
    }
    return nil
  }

  private func warn(_ message: Logger.Message) {
    guard let heldBack = evictionGate.pass() else { return }
    server.logger.warning(
      message, metadata: ["limit": "\(server.maximumConnections)", "unlogged": "\(heldBack)"])
  }
}
