internal import KistCore
internal import KistWire
internal import NIOCore

/// Turns bytes into lines and replies into bytes, and wipes the bytes behind it.
///
/// Every event that it hands on is answered with one line, in order. So it knows how many are
/// unanswered, and reads no more while there are `readAhead` of them. What one connection holds is
/// bounded by that many lines of 1 MiB, one unfinished line in a buffer of at most 2 MiB, one read
/// of `readSize`, and one reply: about 8 MiB for a client that does its worst.
final class LineHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = LineSplitter.Event
  typealias OutboundIn = Line
  typealias OutboundOut = ByteBuffer

  /// Bytes of one read.
  static let readSize = 16 << 10
  private static let readAhead = 4

  private var splitter = LineSplitter()
  private var unanswered = 0
  private var isReadHeldBack = false
  private var isFlushing = false
  private var lastReply: EventLoopFuture<Void>?

  // MARK: - Lines in

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    splitter.append(buffer.readableBytesUInt8Span) { handOn($0, context) }
    buffer.wipe()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .inputClosed? = event as? ChannelEvent, let rest = splitter.finish() {
      handOn(rest, context)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func handlerRemoved(context: ChannelHandlerContext) { splitter = LineSplitter() }

  private func handOn(_ event: LineSplitter.Event, _ context: ChannelHandlerContext) {
    unanswered += 1
    context.fireChannelRead(wrapInboundOut(event))
  }

  // A read during a flush is the channel's last one: a write found the client gone, and complete
  // lines that it had sent before are still to be carried out.
  func read(context: ChannelHandlerContext) {
    if unanswered < Self.readAhead || isFlushing {
      context.read()
    } else {
      isReadHeldBack = true
    }
  }

  // MARK: - Replies out

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let line = unwrapOutboundIn(data)
    var buffer = context.channel.allocator.buffer(capacity: line.content.count + 1)
    line.content.withBytes { _ = unsafe buffer.writeBytes($0.bytes) }
    buffer.writeInteger(UInt8(ascii: "\n"))

    let written = promise ?? context.eventLoop.makePromise()
    lastReply = written.futureResult
    written.futureResult.assumeIsolated().whenComplete { [buffer] _ in
      buffer.wipe()
      self.unanswered -= 1
      if self.isReadHeldBack, self.unanswered < Self.readAhead {
        self.isReadHeldBack = false
        context.read()
      }
    }
    context.write(wrapOutboundOut(buffer), promise: written)
  }

  func flush(context: ChannelHandlerContext) {
    isFlushing = true
    defer { isFlushing = false }
    context.flush()
  }

  // A channel drops its pending writes when it is closed, and the last reply may be among them.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard let lastReply else { return context.close(mode: mode, promise: promise) }
    lastReply.assumeIsolated().whenComplete { _ in context.close(mode: mode, promise: promise) }
  }
}
