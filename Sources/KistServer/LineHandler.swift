internal import KistCore
internal import KistWire
internal import NIOCore

/// Splits the bytes of a channel into lines, answers them in order, and writes the replies.
///
/// It wipes the bytes after use. Its code runs on the channel's event loop. It must be `Sendable`
/// because the tasks that answer lines capture it. `NIOAsyncChannel` would need locks and generic
/// queues that cost more than the rest of a load.
///
/// Every event is answered with one line, in order. The handler stops reading while `readAhead`
/// events are unanswered, or `bytesAhead` bytes wait in lines. So one connection holds at most three
/// lines near the limit of 1 MiB (answered, waiting, unfinished), two replies of at most 1 MiB, and
/// one read of `readSize`.
@safe
final class LineHandler: ChannelDuplexHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = Never
  typealias OutboundOut = ByteBuffer

  static let readSize = 16 << 10
  private static let readAhead = 4
  private static let bytesAhead = 64 << 10
  /// The cost after which the event loop serves other connections, and the fixed cost of each line.
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
  private var splitter = LineSplitter()
  var events = CircularBuffer<LineSplitter.Event>()
  var unansweredCount = 0
  var isAnswering = false
  /// The watch stream that begins after the last reply.
  var stream: WatchStream?
  private var isBeginning = false
  var outgoing = noReplies()
  /// The number of writes that the channel has not finished.
  private(set) var unwritten = 0
  private var lastWrite: EventLoopFuture<Void>?
  /// Since when there have been unfinished writes.
  private(set) var unwrittenSince = NIODeadline.now()
  /// Whether the handler receives no further line.
  var isOver = false
  /// Whether the client has disconnected and reads no more replies.
  private(set) var isGone = false
  /// The work since the event loop last served other connections, in bytes of replies.
  private var cost = 0
  private var isResting = false
  private var isReadPending = false
  private var isWriting = false
  var whenDone: CheckedContinuation<Void, Never>?
  private(set) var context: ChannelHandlerContext?

  init(on loop: any EventLoop, descriptor: CInt? = nil, sequence: SequenceCounter = .init()) {
    self.sequence = sequence
    connectedAt = sequence.next()
    self.loop = loop
    executor = EventLoopExecutor(loop)
    self.descriptor = descriptor
  }

  // MARK: - Called by the connection

  /// Answers the lines one after another until the input ends, and then closes the channel.
  ///
  /// If the client has disconnected, its requests are still performed, except those that only read.
  /// Runs on the event loop.
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
    // The closures may hold the connection, which holds this handler: a reference cycle.
    self.answer = nil
    self.whenRefused = nil
    // The channel drops its pending writes when it closes.
    try? await lastWrite?.get()
    try? await context?.channel.close()
  }

  func dropWaitingLines() {
    events.removeAll()
    unansweredCount = 0
  }

  // MARK: - Answering

  /// Answers the received lines while the client reads; sends replies that are ready together.
  func answerAll() {
    // Events that NIO reports during a write are handled after it.
    guard let answer, !isWriting, !isResting else { return }
    cost = 0
    while !isAnswering, canSendReplies, cost < Self.maximumCost, let event = events.popFirst() {
      isAnswering = true
      switch event {
      case .line(let line) where isGone && line.servesOnlyItsClient: settle(costing: 0)
      case .line(let line): begin(line, answer)
      case .unfinished: refuse(.unfinished)
      case .tooLong:
        refuse(.lineTooLong)
        isOver = true
      }
      if events.isEmpty { flush() }
    }
    flush()
    if cost >= Self.maximumCost { rest() }
    if isOver, !isAnswering, events.isEmpty { beginStreamOrComplete() }
  }

  /// Whether the client reads its replies, or has disconnected.
  var canSendReplies: Bool { unwritten == 0 || isGone || context?.channel.isWritable ?? true }

  /// Lets the loop serve other connections; a queued task would run before it reads from them.
  private func rest() {
    isResting = true
    loop.scheduleTask(in: .microseconds(50)) {
      self.isResting = false
      self.answerAll()
    }
  }

  /// Starts to answer a line; an answer that does not wait is complete when this function returns.
  ///
  /// An answer that waits continues on the event loop, so that no other thread is involved.
  private func begin(_ line: Line, _ answer: @escaping @Sendable (Line) async -> Line) {
    isBeginning = true
    defer { isBeginning = false }
    Task.immediate(executorPreference: executor) {
      let reply = await answer(line)
      sendReply(reply)
      if !isBeginning { answerAll() }
    }
  }

  private func refuse(_ error: StorageError) {
    whenRefused?(error)
    sendReply(.refusal(error))
  }

  private func settle(costing replyBytes: Int) {
    isAnswering = false
    lastAnsweredAt = sequence.next()
    unansweredCount -= 1
    cost += Self.costOfLine + replyBytes
  }

  private func sendReply(_ reply: Line) {
    settle(costing: reply.content.count)
    guard context != nil else { return }
    outgoing.append(reply)
    if outgoing.count >= Self.readSize { flush() }
  }

  // MARK: - Writing

  /// Returns a buffer with space for nearly every reply.
  private static func noReplies() -> WipedBytes { WipedBytes(capacity: 1024) }

  /// Writes the replies to the socket, and passes the bytes for which it has no space to the channel.
  ///
  /// The socket nearly always has space, and the channel's queue of pending writes costs several
  /// times as much as the system call.
  func flush() {
    guard outgoing.count > 0, let context else { return }
    var sent = 0
    // While the channel is active, the socket is open. Pending writes must go first.
    if let descriptor, unwritten == 0, context.channel.isActive {
      sent = outgoing.send(to: descriptor)
    }
    if sent < outgoing.count { write(after: sent, context) }
    // Frees the memory of a large reply.
    if outgoing.capacity > 2 * Self.readSize {
      outgoing = Self.noReplies()
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

  // NIO reads during a write only if the write failed because the client has disconnected. That last
  // read must happen: complete lines that the client sent before are still performed.
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
    unansweredCount < Self.readAhead && events.reduce(0) { $0 + $1.size } < Self.bytesAhead
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case .inputClosed? = event as? ChannelEvent else { return }
    if let rest = splitter.finish() { take(rest) }
    inputDidEnd()
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
    events.append(event)
  }

  private func inputDidEnd() {
    isOver = true
    answerAll()
  }

  private func clientDidLeave() {
    isGone = true
    stream?.cancel()
    inputDidEnd()
  }
}

extension LineSplitter.Event {
  fileprivate var size: Int { if case .line(let line) = self { line.content.count } else { 0 } }
}
