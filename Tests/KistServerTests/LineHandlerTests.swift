import KistCore
import KistWire
import NIOCore
import NIOEmbedded
import Testing

@testable import KistServer

@Suite(.timeLimit(.minutes(2))) struct `The buffers of a connection` {
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

  @Test func `bytes that were read are overwritten in every copy of the buffer`() throws {
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

  @Test func `other connections have their turn during many requests`() throws {
    answer()
    try channel.writeInbound(ByteBuffer(string: String(repeating: "a\n", count: 1000)))
    let first = sink.seen.joined().count
    #expect(first > 0 && first < 1000)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(sink.seen.joined().count == 2000)
  }

  @Test func `nothing more is read while 64 KiB wait in fewer lines`() throws {
    let line = String(repeating: "a", count: 64 << 10) + "\n"
    try channel.writeInbound(ByteBuffer(string: line))
    channel.read()
    #expect(sink.reads == 0)
    answer()
    #expect(sink.reads == 1)
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

@Suite(.timeLimit(.minutes(2))) struct `The eviction priority of a connection` {
  private let sink = Sink()
  private let channel = EmbeddedChannel()
  private let handler: LineHandler

  init() throws {
    handler = LineHandler(on: channel.eventLoop)
    try channel.pipeline.syncOperations.addHandlers([sink, handler])
  }

  @Test func `is nothing before a request, absent during it, and then idle`()
    throws
  {
    #expect(handler.evictionCost() == .nothing(since: 1))
    try channel.writeInbound(ByteBuffer(string: "a"))
    #expect(handler.evictionCost() == .nothing(since: 1), "an unfinished line is not a request")
    try channel.writeInbound(ByteBuffer(string: "\n"))
    #expect(handler.evictionCost() == nil)
    Task.immediate { [handler] in await handler.run({ $0 }, whenRefused: { _ in }) }
    #expect(handler.evictionCost() == .idle(since: 2))
    try channel.writeInbound(ByteBuffer(string: "b\nc"))
    #expect(handler.evictionCost() == .idle(since: 3))
  }

  @Test func `is replies while the client may be reading them, then neglectedReplies`() throws {
    sink.isStuck = true
    Task.immediate { [handler] in await handler.run({ $0 }, whenRefused: { _ in }) }
    let before = NIODeadline.now()
    try channel.writeInbound(ByteBuffer(string: "a\n"))
    let after = NIODeadline.now()
    guard case .replies(let since) = handler.evictionCost(at: after) else {
      Issue.record("not replies")
      return
    }
    #expect((before...after).contains(since))
    #expect(handler.evictionCost(at: since + .seconds(10)) == .neglectedReplies(since: since))
    sink.promise?.succeed()
    #expect(handler.evictionCost() == .idle(since: 2))
  }

  @Test func `is lowest before a request, and highest while the client reads`() {
    let now = NIODeadline.now()
    let costs: [EvictionCost] = [
      .nothing(since: 7), .nothing(since: 8), .neglectedReplies(since: now),
      .neglectedReplies(since: now + .seconds(1)), .idle(since: 1), .idle(since: 2),
      .replies(since: now),
    ]
    #expect(costs.shuffled().sorted() == costs)
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
  var isStuck = false
  var promise: EventLoopPromise<Void>?
  var buffer: ByteBuffer?
  var seen: [String] = []
  var reads = 0

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let buffer = unwrapOutboundIn(data)
    seen.append(String(buffer: buffer))
    self.buffer = buffer
    self.promise = promise
    if isStuck { return }
    if succeeds { promise?.succeed() } else { promise?.fail(ChannelError.ioOnClosedChannel) }
  }

  func read(context: ChannelHandlerContext) { reads += 1 }
}
