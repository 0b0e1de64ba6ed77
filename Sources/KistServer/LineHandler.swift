internal import KistCore
internal import KistWire
internal import NIOCore

/// Turns the bytes of a channel into lines for the task that answers them, and replies into bytes;
/// wipes the bytes behind it.
///
/// `NIOAsyncChannel` would do the handing over for any types between any threads. Its locks and
/// generic queues cost more than the rest of a load; none is needed here, because everything happens
/// on the channel's event loop, the steps of the task included. That is also what makes it `Sendable`.
///
/// Every event is answered with one line, in order. So the handler knows how many are unanswered,
/// and reads no more while there are `readAhead` of them. What one connection holds is bounded by
/// that many lines of 1 MiB, one unfinished line in a buffer of at most 2 MiB, one read of
/// `readSize`, and one reply: about 8 MiB for a client that does its worst.
@safe
final class LineHandler: ChannelDuplexHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = Never
  typealias OutboundOut = ByteBuffer

  /// Bytes of one read.
  static let readSize = 16 << 10
  private static let readAhead = 4

  /// The channel's socket, where it has one.
  private let descriptor: CInt?
  private var splitter = LineSplitter()
  private var events = CircularBuffer<LineSplitter.Event>()
  private var unanswered = 0
  /// The replies that are with the channel.
  private var unwritten = 0
  private var isOver = false
  private var isReadHeldBack = false
  private var isFlushing = false
  private var lastReply: EventLoopFuture<Void>?
  /// The waiting task, which is taken from here whenever it is resumed, and so resumed once; to have
  /// that checked costs a load 2 %.
  private var reader: UnsafeContinuation<LineSplitter.Event?, Never>?
  private var writer: CheckedContinuation<Void, Never>?
  private var context: ChannelHandlerContext?

  init(descriptor: CInt? = nil) { self.descriptor = descriptor }

  // MARK: - What the task calls

  /// The next event; `nil` when there will be none.
  ///
  /// What was received before the client went is handed out first.
  func next() async -> LineSplitter.Event? {
    if let event = events.popFirst() { return event }
    if isOver { return nil }
    return unsafe await withUnsafeContinuation { unsafe reader = $0 }
  }

  /// Sends the reply to the oldest unanswered event, and waits until the client has room for more.
  ///
  /// Without a client it does nothing.
  func reply(_ line: Line) async {
    guard let context else { return }
    send(line, context)
    if !context.channel.isWritable, !isOver { await withCheckedContinuation { writer = $0 } }
  }

  /// Closes the channel once the last reply is written: it drops its pending writes when it closes.
  func close() async {
    try? await lastReply?.get()
    try? await context?.channel.close()
  }

  /// Hands a reply to the socket, which has room for nearly every one, and to the channel what of it
  /// the socket does not take: its queue of pending writes costs several times the system call.
  private func send(_ line: Line, _ context: ChannelHandlerContext) {
    let sent = sendAtOnce(line, context)
    if sent == line.content.count + 1 { return countReply(context) }

    var buffer = context.channel.allocator.buffer(capacity: line.content.count + 1 - sent)
    line.content.withBytes { _ = unsafe buffer.writeBytes($0.extracting(sent...).bytes) }
    buffer.writeInteger(UInt8(ascii: "\n"))

    let written = context.eventLoop.makePromise(of: Void.self)
    lastReply = written.futureResult
    unwritten += 1
    written.futureResult.assumeIsolated().whenComplete { [buffer] _ in
      buffer.wipe()
      self.unwritten -= 1
      self.countReply(context)
    }
    isFlushing = true
    context.writeAndFlush(wrapOutboundOut(buffer), promise: written)
    isFlushing = false
  }

  private func sendAtOnce(_ line: Line, _ context: ChannelHandlerContext) -> Int {
    // The socket is open as long as the channel is active, and replies must not overtake each other.
    guard let descriptor, unwritten == 0, context.channel.isActive else { return 0 }
    return line.send(to: descriptor)
  }

  private func countReply(_ context: ChannelHandlerContext) {
    unanswered -= 1
    if isReadHeldBack, unanswered < Self.readAhead {
      isReadHeldBack = false
      context.read()
    }
  }

  // MARK: - What the channel calls

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    splitter = LineSplitter()
    end()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    splitter.append(buffer.readableBytesUInt8Span, handOn)
    buffer.wipe()
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

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case .inputClosed? = event as? ChannelEvent else { return }
    if let rest = splitter.finish() { handOn(rest) }
    end()
  }

  func channelInactive(context: ChannelHandlerContext) { end() }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { resumeWriter() }
  }

  // An error of a connection is only ever that the client has gone; NIO closes the channel.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}

  private func handOn(_ event: LineSplitter.Event) {
    unanswered += 1
    guard let reader = unsafe reader else { return events.append(event) }
    unsafe self.reader = nil
    unsafe reader.resume(returning: event)
  }

  private func end() {
    isOver = true
    unsafe reader?.resume(returning: nil)
    unsafe reader = nil
    resumeWriter()
  }

  private func resumeWriter() {
    writer?.resume()
    writer = nil
  }
}
