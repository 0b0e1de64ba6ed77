import KistCore
import KistWire
import NIOCore
import NIOEmbedded
import Testing

@testable import KistServer

@Suite struct `The buffers of a connection` {
  private let handler = LineHandler()

  @Test func `what was read is overwritten, for all who share the buffer`() async throws {
    let channel = EmbeddedChannel(handler: handler)
    let buffer = ByteBuffer(string: "hunter2\nhun")
    try channel.writeInbound(buffer)
    #expect(await handler.next() == .line(Line("hunter2")))
    #expect(buffer.readableBytesView.allSatisfy { $0 == 0 })
    #expect(buffer.readableBytes == 11)
  }

  @Test(arguments: [true, false])
  func `a reply is overwritten once it is written, or cannot be`(_ isWritten: Bool) async throws {
    let sink = Sink(succeeds: isWritten)
    let channel = EmbeddedChannel(handlers: [sink, handler])
    defer { extendLifetime(channel) }
    await handler.reply(Line("hunter2"))
    let buffer = try #require(sink.buffer)
    #expect(sink.seen == "hunter2\n")
    #expect(buffer.readableBytesView.allSatisfy { $0 == 0 })
    #expect(buffer.readableBytes == 8)
  }

  @Test func `nothing more is read while four lines are unanswered`() async throws {
    let sink = Sink(succeeds: true)
    let channel = EmbeddedChannel(handlers: [sink, handler])
    try channel.writeInbound(ByteBuffer(string: "a\nb\nc\n"))
    channel.read()
    #expect(sink.reads == 1)
    try channel.writeInbound(ByteBuffer(string: "d\n"))
    channel.read()
    channel.read()
    #expect(sink.reads == 1)
    await handler.reply(Line("reply"))
    #expect(sink.reads == 2)
  }
}

/// What the socket would be: takes what is written, and counts reads.
private final class Sink: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  private let succeeds: Bool
  var buffer: ByteBuffer?
  var seen = ""
  var reads = 0

  init(succeeds: Bool) { self.succeeds = succeeds }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let buffer = unwrapOutboundIn(data)
    seen = String(buffer: buffer)
    self.buffer = buffer
    if succeeds { promise?.succeed() } else { promise?.fail(ChannelError.ioOnClosedChannel) }
  }

  func read(context: ChannelHandlerContext) { reads += 1 }
}
