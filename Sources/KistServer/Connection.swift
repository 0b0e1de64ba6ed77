internal import KistCore
internal import KistWire
internal import NIOCore

/// One client's connection.
struct Connection: Sendable {
  let channel: any Channel
  let peer: Peer
  private let lines: LineHandler

  /// Wraps a channel that is not active yet, so that nothing has been read from it.
  init(wrapping channel: any Channel, peer: Peer) throws {
    try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    try channel.syncOptions?.setOption(
      .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: LineHandler.readSize))
    try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
    lines = LineHandler(descriptor: try channel.withDescriptor { $0 })
    try channel.pipeline.syncOperations.addHandler(lines)
    self.channel = channel
    self.peer = peer
  }

  /// Answers each line, one after another, until there are no more; closes the connection.
  ///
  /// A client that has gone gets no reply, and what it had sent is carried out all the same. On the
  /// channel's event loop only.
  func run(
    _ answer: @Sendable (Line) async -> Line, whenRefused: (StorageError) -> Void
  ) async {
    loop: while let event = await lines.next() {
      switch event {
      case .line(let line): await lines.reply(answer(line))
      case .unfinished:
        whenRefused(.unfinished)
        await lines.reply(.refusal(.unfinished))
      case .tooLong:
        whenRefused(.lineTooLong)
        await lines.reply(.refusal(.lineTooLong))
        break loop
      }
    }
    await lines.close()
  }
}

extension StorageError {
  fileprivate static var unfinished: StorageError {
    StorageError(
      .badRequest, "the stream ended within a line", hint: "end each request with a newline",
      outcome: .unchanged)
  }

  fileprivate static var lineTooLong: StorageError {
    StorageError(
      .tooLarge, "the line is longer than \(Limits.line) bytes",
      hint: "the connection is closed; what was sent before the line was carried out",
      outcome: .unchanged)
  }
}
