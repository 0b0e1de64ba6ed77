internal import Glibc
internal import KistCore
internal import KistWire
internal import NIOCore

/// One client's connection.
struct Connection: Sendable {
  let channel: any Channel
  let peer: Peer
  private let lines: LineHandler

  /// Wraps a channel that is not active yet, so that nothing has been read from it.
  init(wrapping channel: any Channel, peer: Peer, turns: Turns) throws {
    try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    try channel.syncOptions?.setOption(
      .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: LineHandler.readSize))
    try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
    lines = LineHandler(
      on: channel.eventLoop, descriptor: try channel.withDescriptor { $0 }, turns: turns)
    try channel.pipeline.syncOperations.addHandler(lines)
    self.channel = channel
    self.peer = peer
  }

  /// Answers each line until there are no more, and tells what else was refused; closes the connection.
  func run(
    _ answer: @escaping @Sendable (Line) async -> Line,
    whenRefused: @escaping @Sendable (StorageError) -> Void
  ) async { await lines.run(answer, whenRefused: whenRefused) }

  /// Has lines follow the reply to the line that is being answered.
  func follow(_ next: @escaping NextLine) {
    channel.eventLoop.preconditionInEventLoop()
    lines.follow(next)
  }

  /// Ends what follows.
  func stopFollowing() { lines.stopFollowing() }
}

extension Connection {
  /// What the client would lose if it were closed now; `nil` while that is the answer to a request.
  var stake: Stake? { lines.stake() }

  /// Closes the connection for the sake of another one, unless a request has come meanwhile, and
  /// tells whether it did; no request that the client could send is thrown away.
  func makeRoom(because reason: StorageError) -> Bool {
    let isAsked = try? channel.withDescriptor { descriptor in
      // Nothing is read from a client that does not read.
      if lines.hasUnreadReplies { return false }
      // Whatever it sends is not answered any more.
      if lines.isFollowing {
        channel.tell(reason)
        return false
      }
      // First, so that who asks keeps the connection, and again when nothing can be sent any more.
      if hasInput(descriptor) { return true }
      shutdown(descriptor, CInt(SHUT_RD))
      if hasInput(descriptor) { return true }
      channel.tell(reason)
      return false
    }
    if isAsked == true { return false }
    lines.forget()
    channel.close(promise: nil)
    return true
  }
}

extension StorageError {
  /// Said to who is refused, and to who makes room.
  static func crowded(limit: Int) -> StorageError {
    StorageError(
      .busy, "no more connections are served at once than the limit, \(limit)",
      hint: "connect again, or give kistd a larger --max-connections", outcome: .unchanged)
  }

  static var unfinished: StorageError {
    StorageError(
      .badRequest, "the stream ended within a line", hint: "end each request with a newline",
      outcome: .unchanged)
  }

  static var lineTooLong: StorageError {
    StorageError(
      .tooLarge, "the line is longer than \(Limits.line) bytes",
      hint: "the connection is closed; what was sent before the line was carried out",
      outcome: .unchanged)
  }
}
