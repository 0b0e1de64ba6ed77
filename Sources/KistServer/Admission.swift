internal import Glibc
internal import KistCore
internal import KistWire
internal import Logging
internal import NIOCore
internal import Synchronization

/// Decides who comes in, and knows who is in.
///
/// Where there is no room for one more, one makes room that has asked for nothing, or else the one
/// whose last request is the longest ago. So who comes in can ask, however many there are who only
/// hold connections; nobody is refused but while a request of everybody else is under way.
final class Admission: Sendable {
  private struct State {
    var isStopping = false
    var admitted: [ObjectIdentifier: Connection] = [:]
    /// Since when nobody has been in, or was the last time.
    var emptySince = NIODeadline.now()
  }

  private let maximumConnections: Int
  private let admits: @Sendable (Peer) -> Bool
  private let whenRefused: @Sendable (Peer, Refusal) -> Void
  private let logger: Logger
  private let strangers: LogGate
  private let crowd: LogGate
  private let turns = Turns()
  private let state = Mutex(State())

  init(
    maximumConnections: Int, logInterval: Duration, admits: @escaping @Sendable (Peer) -> Bool,
    whenRefused: @escaping @Sendable (Peer, Refusal) -> Void = { _, _ in }, logger: Logger
  ) {
    self.maximumConnections = maximumConnections
    strangers = LogGate(interval: TimeAmount(logInterval))
    crowd = LogGate(interval: TimeAmount(logInterval))
    self.admits = admits
    self.whenRefused = whenRefused
    self.logger = logger
  }

  /// The number of connections that are in.
  var count: Int { state.withLock { $0.admitted.count } }

  /// Since when nobody has been in; `nil` while somebody is.
  var emptySince: NIODeadline? {
    state.withLock { $0.admitted.isEmpty ? $0.emptySince : nil }
  }

  /// Admits an accepted channel, before anything is read from it, or refuses and closes it.
  func admit(_ channel: any Channel) throws -> Connection {
    var peer: Peer?
    do {
      let found = try channel.peer()
      peer = found
      try check(found)
      let connection = try Connection(wrapping: channel, peer: found, turns: turns)
      // Last, so that whoever has entered is handed on, and leaves.
      try enter(connection)
      return connection
    } catch {
      if let refusal = error as? StorageError {
        // A fresh socket has room for it; a client that has gone already does without.
        channel.tell(refusal)
        if let peer { whenRefused(peer, .connection(refusal)) }
      }
      channel.close(promise: nil)
      throw error
    }
  }

  /// Lets go of a connection whose last line was answered.
  func leave(_ connection: Connection) {
    state.withLock { state in
      state.admitted.removeValue(forKey: ObjectIdentifier(connection.channel))
      state.emptySince = .now()
    }
  }

  /// Admits nobody from now on and ends the streams of those who are in.
  ///
  /// The kernel still hands over what it has received, and then the end: to a connection this is
  /// a client that has said its last word, and its replies are finished the same way.
  func stop() {
    shutDown(SHUT_RD)
    let admitted = state.withLock { state in
      state.isStopping = true
      return Array(state.admitted.values)
    }
    for connection in admitted { connection.stopFollowing() }
  }

  /// Cuts the connections that are left.
  func sever() { shutDown(SHUT_RDWR) }

  private func shutDown(_ how: some BinaryInteger) {
    for connection in state.withLock({ Array($0.admitted.values) }) {
      try? connection.channel.withDescriptor { _ = Glibc.shutdown($0, CInt(how)) }
    }
  }

  private func check(_ peer: Peer) throws(StorageError) {
    if admits(peer) { return }
    if let heldBack = strangers.pass() {
      logger.warning(
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
      return state.admitted.count >= maximumConnections
    }
    if isFull {
      let crowded = StorageError.crowded(limit: maximumConnections)
      guard let left = makeRoom(because: crowded) else {
        warn("refused a connection: there are too many, all with requests under way")
        throw crowded
      }
      leave(left)
      warn("closed a connection to make room: there are too many")
      whenRefused(left.peer, .connection(crowded))
    }
    state.withLock { $0.admitted[ObjectIdentifier(connection.channel)] = connection }
  }

  /// Closes the connection whose client loses least, and gives it.
  private func makeRoom(because reason: StorageError) -> Connection? {
    let all = state.withLock { Array($0.admitted.values) }
    var closable = all.compactMap { connection in
      connection.stake.map { (stake: $0, connection: connection) }
    }
    // Nearly always the first one does.
    while let least = closable.indices.min(by: { closable[$0].stake < closable[$1].stake }) {
      let connection = closable.remove(at: least).connection
      if connection.makeRoom(because: reason) { return connection }
    }
    return nil
  }

  private func warn(_ message: Logger.Message) {
    guard let heldBack = crowd.pass() else { return }
    logger.warning(
      message, metadata: ["limit": "\(maximumConnections)", "unlogged": "\(heldBack)"])
  }
}
