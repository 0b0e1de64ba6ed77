internal import KistCore
internal import KistWire
internal import NIOCore

/// Splits the bytes of a channel into lines, answers the lines in order, and writes the replies.
///
/// The handler wipes the bytes after use. It is a channel handler, because the locks and queues of
/// `NIOAsyncChannel` would cost more than all other work for a load of a credential. All its code
/// runs on the event loop of the channel. It must be `Sendable` because tasks capture it.
///
/// The memory of a connection is limited. The handler stops reading while `readAhead` lines are
/// unanswered, or while the waiting lines have `bytesAhead` bytes. So it holds at most three lines
/// near `lineLimit`: one that is being answered, one that waits, and one that is not completely
/// received. It also holds at most two replies of this size, and the bytes of one read.
@safe
final class LineHandler: ChannelDuplexHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = Never
  typealias OutboundOut = ByteBuffer

  static let readSize = 16 << 10
  private static let readAhead = 4
  private static let bytesAhead = 64 << 10
  /// After work of this cost, the event loop serves other connections.
  ///
  /// The cost of work is the bytes of the replies, plus `costOfLine` for each line.
  private static let maximumCost = 256 << 10
  private static let costOfLine = 1 << 10

  private let sequence: SequenceCounter
  let connectedAt: SequenceNumber
  private(set) var lastAnsweredAt: SequenceNumber?
  private let loop: any EventLoop
  let executor: EventLoopExecutor
  private let descriptor: CInt?
  private var answer: (@Sendable (Line) async -> Line)?
  private var whenRefused: (@Sendable (StorageError) -> Void)?
  private var splitter: LineSplitter
  var events = CircularBuffer<LineSplitter.Event>()
  /// The bytes of the events.
  private var waitingBytes = 0
  var unansweredCount = 0
  var isAnswering = false
  /// The watch stream that begins after the last reply.
  var stream: WatchStream?
  /// Whether `startAnswer` is running.
  private var isStartingAnswer = false
  var outgoing = emptyReplyBuffer()
  /// The number of writes that the channel has not finished.
  private(set) var unwritten = 0
  private var lastWrite: EventLoopFuture<Void>?
  /// When the number of unfinished writes last changed from zero to one.
  private(set) var unwrittenSince = NIODeadline.now()
  /// Whether no further line will be received.
  var inputHasEnded = false
  /// Whether the client has disconnected and reads no more replies.
  private(set) var isDisconnected = false
  /// The cost of the work since the event loop last served other connections.
  private var cost = 0
  private var isPaused = false
  private var isReadPending = false
  /// Whether `write` is calling the channel, which may report events meanwhile.
  private var isWriting = false
  var whenDone: CheckedContinuation<Void, Never>?
  private(set) var context: ChannelHandlerContext?

  init(
    on loop: any EventLoop, descriptor: CInt? = nil, sequence: SequenceCounter = .init(),
    lineLimit: Int = Limits.line
  ) {
    splitter = LineSplitter(limit: lineLimit)
    self.sequence = sequence
    connectedAt = sequence.next()
    self.loop = loop
    executor = EventLoopExecutor(loop)
    self.descriptor = descriptor
  }

  // MARK: - Called by the connection

  /// Answers the lines one after another until the input ends, and then closes the channel.
  ///
  /// If the client disconnects, its received requests are still performed, except those that serve
  /// only this client: requests that only read, and requests for a backup. Must be called on the
  /// event loop.
  func run(
    _ answer: @escaping @Sendable (Line) async -> Line,
    whenRefused: @escaping @Sendable (StorageError) -> Void
  ) async {
    self.answer = answer
    self.whenRefused = whenRefused
    await withCheckedContinuation { continuation in
      whenDone = continuation
      answerAll()
    }
    // These closures may retain the connection, and the connection retains this handler.
    self.answer = nil
    self.whenRefused = nil
    // The channel drops its pending writes when it closes.
    try? await lastWrite?.get()
    try? await context?.channel.close()
  }

  func dropWaitingLines() {
    events.removeAll()
    (waitingBytes, unansweredCount) = (0, 0)
  }

  // MARK: - Answering

  /// Answers the received lines while the client reads.
  ///
  /// Replies that are ready at the same time are sent together.
  func answerAll() {
    // Events that NIO reports during a write are handled after it.
    guard let answer, !isWriting, !isPaused else { return }
    cost = 0
    while unansweredCount > 0, !isAnswering, canWriteMore, cost < Self.maximumCost,
      let event = events.popFirst()
    {
      isAnswering = true
      waitingBytes -= event.size
      switch event {
      case .line(let line) where isDisconnected && line.servesOnlyItsClient: finishLine(costing: 0)
      case .line(let line): startAnswer(to: line, answer)
      case .unfinished: refuse(.unfinished)
      case .tooLong:
        refuse(.lineTooLong(over: splitter.limit))
        inputHasEnded = true
      }
      if events.isEmpty { flush() }
    }
    flush()
    if cost >= Self.maximumCost { pause() }
    if inputHasEnded, !isAnswering, events.isEmpty { beginStreamOrComplete() }
  }

  /// Whether a caller may write another reply now, without waiting for the client to read.
  ///
  /// Also true if the client has disconnected, because the reply is then discarded.
  var canWriteMore: Bool {
    unwritten == 0 || isDisconnected || context?.channel.isWritable ?? true
  }

  /// Lets the event loop serve other connections.
  ///
  /// This needs a timer: a queued task would run before the loop reads from them.
  private func pause() {
    isPaused = true
    loop.scheduleTask(in: .microseconds(50)) {
      self.isPaused = false
      self.answerAll()
    }
  }

  /// Starts to answer a line.
  ///
  /// If the answer need not wait, it is complete when this function returns. Otherwise the answer
  /// continues later on the event loop, without another thread.
  private func startAnswer(to line: Line, _ answer: @escaping @Sendable (Line) async -> Line) {
    isStartingAnswer = true
    defer { isStartingAnswer = false }
    Task.immediate(executorPreference: executor) {
      let reply = await answer(line)
      sendReply(reply)
      if !isStartingAnswer { answerAll() }
    }
  }

  private func refuse(_ error: StorageError) {
    whenRefused?(error)
    sendReply(.refusal(error))
  }

  private func finishLine(costing replyBytes: Int) {
    isAnswering = false
    lastAnsweredAt = sequence.next()
    unansweredCount -= 1
    cost += Self.costOfLine + replyBytes
  }

  private func sendReply(_ reply: Line) {
    finishLine(costing: reply.content.count)
    guard context != nil else { return }
    outgoing.append(reply)
    if outgoing.count >= Self.readSize { flush() }
  }

  // MARK: - Writing

  /// Returns an empty buffer that is large enough for nearly every reply.
  private static func emptyReplyBuffer() -> WipedBytes { WipedBytes(capacity: 1024) }

  /// Writes the replies to the socket directly.
  ///
  /// If the socket has too little space, the channel writes the rest. The socket nearly always has
  /// space. A write through the channel costs several times as much.
  func flush() {
    guard outgoing.count > 0, let context else { return }
    var sent = 0
    // While the channel is active, the socket is open. Earlier writes must be sent first.
    if let descriptor, unwritten == 0, context.channel.isActive {
      sent = outgoing.send(to: descriptor)
    }
    if sent < outgoing.count { write(after: sent, context) }
    // Frees the memory of a large reply.
    if outgoing.capacity > 2 * Self.readSize {
      outgoing = Self.emptyReplyBuffer()
    } else {
      outgoing.removeAll()
    }
    resumeReading(context)
  }

  private func write(after sent: Int, _ context: ChannelHandlerContext) {
    var buffer = context.channel.allocator.buffer(capacity: outgoing.count - sent)
    outgoing.withBytes { _ = unsafe buffer.writeBytes($0.extracting(sent...).bytes) }
    let written = context.eventLoop.makePromise(of: Void.self)
    lastWrite = written.futureResult
    if unwritten == 0 { unwrittenSince = .now() }
    unwritten += 1
    written.futureResult.assumeIsolated().whenComplete { [buffer] _ in
      buffer.wipe()
      self.unwritten -= 1
      self.resumeReading(context)
    }
    isWriting = true
    context.writeAndFlush(wrapOutboundOut(buffer), promise: written)
    isWriting = false
  }

  // MARK: - Called by the channel

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    splitter = LineSplitter()
    clientDidLeave()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    splitter.append(buffer.readableBytesUInt8Span, take)
    buffer.wipe()
    answerAll()
  }

  // NIO reads during a write only if the write failed because the client has disconnected. This
  // last read must happen, because it may return requests that kistd must perform.
  func read(context: ChannelHandlerContext) {
    if canReceiveMore || isWriting {
      context.read()
    } else {
      isReadPending = true
    }
  }

  private func resumeReading(_ context: ChannelHandlerContext) {
    if isReadPending, canReceiveMore {
      isReadPending = false
      context.read()
    }
  }

  private var canReceiveMore: Bool {
    unansweredCount < Self.readAhead && waitingBytes < Self.bytesAhead
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case .inputClosed? = event as? ChannelEvent else { return }
    if let rest = splitter.finish() { take(rest) }
    inputHasEnded = true
    answerAll()
  }

  func channelInactive(context: ChannelHandlerContext) { clientDidLeave() }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    answerAll()
    stream?.resumeSending()
  }

  // The only error of a connection is that the client has disconnected. NIO closes the channel.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}

  private func take(_ event: LineSplitter.Event) {
    unansweredCount += 1
    waitingBytes += event.size
    events.append(event)
  }

  private func clientDidLeave() {
    isDisconnected = true
    stream?.cancel()
    inputHasEnded = true
    answerAll()
  }
}
