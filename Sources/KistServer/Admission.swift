internal import Glibc
internal import KistCore
internal import KistWire
internal import Logging
internal import NIOCore
internal import Synchronization

/// Decides who comes in, and knows who is in.
final class Admission: Sendable {
  private struct State {
    var isStopping = false
    var admitted: [ObjectIdentifier: any Channel] = [:]
    /// Since when nobody has been in, or was the last time.
    var emptySince = NIODeadline.now()
  }

  private let maximumConnections: Int
  private let admits: @Sendable (Peer) -> Bool
  private let whenRefused: @Sendable (Peer, Refusal) -> Void
  private let logger: Logger
  private let strangers = LogGate()
  private let crowd = LogGate()
  private let state = Mutex(State())

  init(
    maximumConnections: Int, admits: @escaping @Sendable (Peer) -> Bool,
    whenRefused: @escaping @Sendable (Peer, Refusal) -> Void = { _, _ in }, logger: Logger
  ) {
    self.maximumConnections = maximumConnections
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
      let connection = try Connection(wrapping: channel, peer: found)
      // Last, so that whoever has entered is handed on, and leaves.
      try enter(channel)
      return connection
    } catch {
      if let refusal = error as? StorageError {
        // A fresh socket has room for it; a client that has gone already does without.
        var bytes = WipedBytes(capacity: 512)
        bytes.append(Line.refusal(refusal))
        _ = try? channel.withDescriptor { bytes.send(to: $0) }
        if let peer { whenRefused(peer, .connection(refusal)) }
      }
      channel.close(promise: nil)
      throw error
    }
  }

  /// Lets go of a connection whose last line was answered.
  func leave(_ channel: any Channel) {
    state.withLock { state in
      state.admitted.removeValue(forKey: ObjectIdentifier(channel))
      state.emptySince = .now()
    }
  }

  /// Admits nobody from now on and ends the streams of those who are in.
  ///
  /// The kernel still hands over what it has received, and then the end: to a connection this is
  /// a client that has said its last word, and its replies are finished the same way.
  func stop() {
    shutDown(SHUT_RD)
    state.withLock { $0.isStopping = true }
  }

  /// Cuts the connections that are left.
  func sever() { shutDown(SHUT_RDWR) }

  private func shutDown(_ how: some BinaryInteger) {
    for channel in state.withLock({ Array($0.admitted.values) }) {
      try? channel.withDescriptor { _ = Glibc.shutdown($0, CInt(how)) }
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

  private func enter(_ channel: any Channel) throws {
    let hasRoom = try state.withLock { state in
      if state.isStopping { throw ChannelError.ioOnClosedChannel }
      guard state.admitted.count < maximumConnections else { return false }
      state.admitted[ObjectIdentifier(channel)] = channel
      return true
    }
    if hasRoom { return }
    if let heldBack = crowd.pass() {
      logger.warning(
        "refused a connection: there are too many",
        metadata: ["limit": "\(maximumConnections)", "unlogged": "\(heldBack)"])
    }
    throw StorageError(
      .busy, "no more connections are served at once than the limit, \(maximumConnections)",
      hint: "close some, or give kistd a larger --max-connections", outcome: .unchanged)
  }
}
