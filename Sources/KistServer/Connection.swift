internal import Glibc
internal import KistCore
internal import KistWire
internal import NIOCore

/// The connection of one client.
struct Connection: Sendable {
  let channel: any Channel
  let peer: Peer
  let lines: LineHandler

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

  /// Starts a watch stream after the reply to the current line.
  func beginStream(_ next: @escaping NextLine) {
    channel.eventLoop.preconditionInEventLoop()
    lines.beginStream(next)
  }

  /// Evicts the connection unless a request has arrived meanwhile, and returns whether it did.
  ///
  /// No request that the client could send is lost.
  func evict(because reason: StorageError) -> Bool {
    let isAsked = try? channel.withDescriptor { descriptor in
      // A client that does not read its replies has no more requests read.
      if lines.hasUnreadReplies { return false }
      // Requests on a watch stream are not answered any more.
      if lines.isStreaming {
        channel.send(refusal: reason)
        return false
      }
      // The first check keeps a connection with a request. The second runs when no more can arrive.
      if hasInput(descriptor) { return true }
      shutdown(descriptor, CInt(SHUT_RD))
      if hasInput(descriptor) { return true }
      channel.send(refusal: reason)
      return false
    }
    if isAsked == true { return false }
    lines.forget()
    channel.close(promise: nil)
    return true
  }
}

extension StorageError {
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
