import KistCore
import KistWire
import NIOCore
import NIOEmbedded
import Testing

@testable import KistServer

@Suite struct `The buffers of a connection` {
  private let sink = Sink()
  private let channel = EmbeddedChannel()
  private let handler: LineHandler

  init() throws {
    handler = LineHandler(on: channel.eventLoop)
    try channel.pipeline.syncOperations.addHandlers([sink, handler])
  }

  /// Answers each line with itself from now on.
  private func answer() {
    Task.immediate { [handler] in await handler.run({ $0 }, whenRefused: { _ in }) }
  }

  @Test func `what was read is overwritten, for all who share the buffer`() throws {
    let buffer = ByteBuffer(string: "hunter2\nhun")
    try channel.writeInbound(buffer)
    #expect(buffer.readableBytesView.allSatisfy { $0 == 0 })
    #expect(buffer.readableBytes == 11)
  }

  @Test(arguments: [true, false])
  func `a reply is overwritten once it is written, or cannot be`(_ isWritten: Bool) throws {
    sink.succeeds = isWritten
    answer()
    try channel.writeInbound(ByteBuffer(string: "hunter2\n"))
    let buffer = try #require(sink.buffer)
    #expect(sink.seen == ["hunter2\n"])
    #expect(buffer.readableBytesView.allSatisfy { $0 == 0 })
    #expect(buffer.readableBytes == 8)
  }

  @Test func `replies to lines that come together leave together`() throws {
    answer()
    try channel.writeInbound(ByteBuffer(string: "a\nb\nc\nd"))
    #expect(sink.seen == ["a\nb\nc\n"])
  }

  @Test func `nothing more is read while four lines are unanswered`() throws {
    try channel.writeInbound(ByteBuffer(string: "a\nb\nc\n"))
    channel.read()
    #expect(sink.reads == 1)
    try channel.writeInbound(ByteBuffer(string: "d\n"))
    channel.read()
    channel.read()
    #expect(sink.reads == 1)
    answer()
    #expect(sink.reads == 2)
  }
}

/// Ends a connection whose functions hold its handler, and gives the handler if it is still there.
private func endedConnection() async throws -> Released {
  let channel = EmbeddedChannel()
  let handler = LineHandler(on: channel.eventLoop)
  try channel.pipeline.syncOperations.addHandler(handler)
  let running = Task.immediate {
    await handler.run({ $0 }, whenRefused: { _ in extendLifetime(handler) })
  }
  _ = try channel.finish()
  await running.value
  return Released(handler: handler)
}

private struct Released {
  weak let handler: LineHandler?
}

@Test func `a connection that has ended leaves nothing in memory`() async throws {
  let ended = try await endedConnection()
  #expect(ended.handler == nil)
}

/// What the socket would be: takes what is written, and counts reads.
private final class Sink: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  var succeeds = true
  var buffer: ByteBuffer?
  var seen: [String] = []
  var reads = 0

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let buffer = unwrapOutboundIn(data)
    seen.append(String(buffer: buffer))
    self.buffer = buffer
    if succeeds { promise?.succeed() } else { promise?.fail(ChannelError.ioOnClosedChannel) }
  }

  func read(context: ChannelHandlerContext) { reads += 1 }
}
