internal import KistWire
internal import NIOCore

/// Where the events of a channel become calls of the task that answers them, and replies come back.
///
/// `NIOAsyncChannel` does the same for any types, threads and rates. Its locks, queues and generic
/// metadata cost more than all the rest of a load; this needs none of them, because everything here
/// happens on the channel's event loop, the task's own steps included.
final class Conversation: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = LineSplitter.Event
  typealias OutboundOut = Line

  private var events = CircularBuffer<LineSplitter.Event>()
  private var isOver = false
  private var reader: CheckedContinuation<LineSplitter.Event?, Never>?
  private var writer: CheckedContinuation<Void, Never>?
  private var context: ChannelHandlerContext?

  /// The next event; `nil` when there will be none.
  ///
  /// What was received before the client went is handed out first.
  func next() async -> LineSplitter.Event? {
    if let event = events.popFirst() { return event }
    if isOver { return nil }
    return await withCheckedContinuation { reader = $0 }
  }

  /// Sends a reply, and waits until the client has room for another; without a client, does nothing.
  func reply(_ line: Line) async {
    guard let context else { return }
    context.writeAndFlush(wrapOutboundOut(line), promise: nil)
    if !context.channel.isWritable, !isOver { await withCheckedContinuation { writer = $0 } }
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    end()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let event = unwrapInboundIn(data)
    guard let reader else { return events.append(event) }
    self.reader = nil
    reader.resume(returning: event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { resumeWriter() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .inputClosed? = event as? ChannelEvent { end() }
  }

  func channelInactive(context: ChannelHandlerContext) { end() }

  // An error of a connection is only ever that the client has gone; the channel closes then.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func end() {
    isOver = true
    reader?.resume(returning: nil)
    reader = nil
    resumeWriter()
  }

  private func resumeWriter() {
    writer?.resume()
    writer = nil
  }
}
