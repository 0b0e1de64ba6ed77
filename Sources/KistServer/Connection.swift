internal import Glibc
internal import KistCore
internal import KistWire
internal import NIOCore

struct Connection: Sendable {
  let channel: any Channel
  let peer: Peer
  let handler: LineHandler

  /// Wraps a channel that is not active yet.
  ///
  /// So nothing has been read from the channel.
  init(
    wrapping channel: any Channel, peer: Peer, sequence: SequenceCounter, lineLimit: Int
  ) throws {
    try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    try channel.syncOptions?.setOption(
      .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: LineHandler.readSize))
    try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
    handler = LineHandler(
      on: channel.eventLoop, descriptor: try channel.withDescriptor { $0 }, sequence: sequence,
      lineLimit: lineLimit)
    try channel.pipeline.syncOperations.addHandler(handler)
    self.channel = channel
    self.peer = peer
  }

  /// Registers a watch stream, which begins after the reply to the current line.
  func registerStream(_ next: @escaping NextLine) {
    channel.eventLoop.preconditionInEventLoop()
    handler.registerStream(next)
  }

  /// Evicts the connection, unless a request has just arrived; returns whether it was evicted.
  ///
  /// Drops the waiting requests of a client with unread replies.
  func evict(because reason: StorageError) -> Bool {
    let hasRequest = try? channel.withDescriptor { descriptor in
      // The client has unread replies, so its waiting requests do not prevent the eviction.
      if handler.hasUnreadReplies { return false }
      // kistd answers no requests on the connection of a watch.
      if handler.isStreaming {
        channel.send(refusal: reason)
        return false
      }
      if hasInput(descriptor) { return true }
      shutdown(descriptor, CInt(SHUT_RD))
      // A request may have arrived between the first check and shutdown(2).
      if hasInput(descriptor) { return true }
      channel.send(refusal: reason)
      return false
    }
    if hasRequest == true { return false }
    handler.dropWaitingLines()
    channel.close(promise: nil)
    return true
  }
}

extension StorageError {
  static let unfinished = StorageError(
    .badRequest, "the connection ended in the middle of a line",
    hint: "end each request with a newline",
    outcome: .unchanged)

  static func lineTooLong(over limit: Int) -> StorageError {
    StorageError(
      .tooLarge, "the line is longer than \(limit) bytes",
      hint: "the connection was closed; the requests before this line were performed",
      outcome: .unchanged)
  }
}

extension Channel {
  /// Passes the socket to the closure, on the event loop; throws if the socket is closed.
  func withDescriptor<Result>(_ body: (CInt) throws -> Result) throws -> Result {
    guard
      let result = try pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self, body)
    else { throw ChannelError.operationUnsupported }
    return result
  }

  /// Returns the peer of an accepted channel.
  ///
  /// Also makes sure that programs that kistd starts do not inherit the socket.
  func peer() throws -> Peer {
    try withDescriptor { descriptor in
      // NIO accepts without SOCK_CLOEXEC.
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      return try Peer(connectedTo: descriptor)
    }
  }

  /// Sends a client the reason why kistd does not serve it; nothing if the socket has no space.
  func send(refusal: StorageError) {
    var bytes = WipedBytes(capacity: 512)
    bytes.append(Line.refusal(refusal))
    _ = try? withDescriptor { bytes.send(to: $0) }
  }
}

func hasInput(_ descriptor: CInt) -> Bool {
  var byte: UInt8 = 0
  return unsafe recv(descriptor, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT)) == 1
}

extension WipedBytes {
  mutating func append(_ line: Line) {
    line.content.withBytes { append($0) }
    append(UInt8(ascii: "\n"))
  }

  /// Sends as many bytes as the socket has space for; returns their number, or 0 after an error.
  func send(to descriptor: CInt) -> Int {
    withBytes { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        let sent = unsafe Glibc.send(
          descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        return max(sent, 0)
      }
    }
  }
}

extension LineSplitter.Event {
  var size: Int { if case .line(let line) = self { line.content.count } else { 0 } }
}

extension ByteBuffer {
  /// Overwrites the readable bytes in memory.
  ///
  /// Do not use the bytes after this call. This function writes to the memory itself: if NIO still has
  /// a reference to the buffer, a write through `ByteBuffer` would only change a copy.
  func wipe() {
    unsafe withUnsafeReadableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
    }
  }
}
