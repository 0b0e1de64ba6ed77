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
    lines = LineHandler(
      on: channel.eventLoop, descriptor: try channel.withDescriptor { $0 })
    try channel.pipeline.syncOperations.addHandler(lines)
    self.channel = channel
    self.peer = peer
  }

  /// Answers each line until there are no more, and tells what else was refused; closes the connection.
  func run(
    _ answer: @escaping @Sendable (Line) async -> Line,
    whenRefused: @escaping @Sendable (StorageError) -> Void
  ) async { await lines.run(answer, whenRefused: whenRefused) }
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
