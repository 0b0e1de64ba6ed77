internal import KistCore
internal import KistWire
internal import NIOCore

/// One client's connection.
struct Connection: Sendable {
  let channel: NIOAsyncChannel<LineSplitter.Event, Line>
  let peer: Peer

  /// Wraps a channel that is not active yet, so that nothing has been read from it.
  init(wrapping channel: any Channel, peer: Peer) throws {
    try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    try channel.syncOptions?.setOption(
      .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: LineHandler.readSize))
    try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
    try channel.pipeline.syncOperations.addHandler(LineHandler())
    self.channel = try NIOAsyncChannel(
      wrappingChannelSynchronously: channel,
      // LineHandler holds reading back: it counts lines until they are answered, not until they
      // are taken.
      configuration: .init(backPressureStrategy: .init(lowWatermark: .max, highWatermark: .max)))
    self.peer = peer
  }

  /// Answers each line, one after another, until there are no more; closes the connection.
  ///
  /// An error of the connection is only ever that the client has gone. It gets no reply then, and
  /// what it had sent is carried out all the same.
  func run(_ answer: @Sendable (Line) async -> Line) async {
    try? await channel.executeThenClose { inbound, outbound in
      for try await event in inbound {
        switch event {
        case .line(let line):
          try? await outbound.write(await answer(line))
        case .unfinished:
          try? await outbound.write(.refusal(.unfinished))
        case .tooLong:
          return try await outbound.write(.refusal(.lineTooLong))
        }
      }
    }
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
