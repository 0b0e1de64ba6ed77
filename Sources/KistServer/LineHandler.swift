internal import KistCore
internal import KistWire
internal import NIOCore

/// Splits the bytes of a channel into lines, answers them in order, and writes the replies.
///
/// It wipes the bytes after use. It runs on the channel's event loop, except the answering itself,
/// and is therefore `Sendable`. `NIOAsyncChannel` would need locks and generic queues that cost
/// more than the rest of a load.
///
/// Every event is answered with one line, in order. So the handler knows how many events wait. It
/// stops reading at `readAhead` unanswered events, or when `bytesAhead` bytes wait in lines. One
/// connection holds at most three lines (answered, waiting, unfinished), two replies and one read
/// of `readSize`. Each line and reply has at most 1 MiB.
@safe
final class LineHandler: ChannelDuplexHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = Never
  typealias OutboundOut = ByteBuffer

  static let readSize = 16 << 10
  private static let readAhead = 4
  private static let bytesAhead = 64 << 10
  /// The cost after which other connections get their turn, and the fixed cost of each line.
  private static let highestCost = 256 << 10
  private static let costOfLine = 1 << 10

  private let turns: Turns
  let connected: Turn
  private(set) var answered: Turn?
  private let loop: any EventLoop
  let executor: EventLoopExecutor
  private let descriptor: CInt?
  private var answer: (@Sendable (Line) async -> Line)?
  private var whenRefused: (@Sendable (StorageError) -> Void)?
  private var splitter = LineSplitter()
  var events = CircularBuffer<LineSplitter.Event>()
  var unanswered = 0
  var isAnswering = false
  /// The watch stream that begins after the last reply.
  var stream: WatchStream?
  private var isStarting = false
  var outgoing = noReplies()
  /// The number of writes that the channel has not finished.
  private(set) var unwritten = 0
  private var lastWrite: EventLoopFuture<Void>?
  /// Since when the channel has had unfinished writes.
  private(set) var unwrittenSince = NIODeadline.now()
  var isOver = false
  /// Whether the client has gone and reads no more replies.
  private(set) var isGone = false
  /// The work done since other connections had their turn, in bytes of replies.
  private var cost = 0
  private var isResting = false
  private var isReadHeldBack = false
  private var isWriting = false
  var whenDone: CheckedContinuation<Void, Never>?
  private(set) var context: ChannelHandlerContext?

  init(on loop: any EventLoop, descriptor: CInt? = nil, turns: Turns = Turns()) {
    self.turns = turns
    connected = turns.next()
    self.loop = loop
    executor = EventLoopExecutor(loop)
    self.descriptor = descriptor
  }

  // MARK: - What the connection calls

  /// Answers the lines one after another until their end, and then closes the channel.
  ///
  /// A client that has gone gets no reply, but its requests are performed. Runs on the event loop.
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
    // The closures may hold the connection, and so this handler.
    self.answer = nil
    self.whenRefused = nil
    // The channel drops its pending writes when it closes.
    try? await lastWrite?.get()
    try? await context?.channel.close()
  }

  func forget() {
    events.removeAll()
    unanswered = 0
  }

  // MARK: - Answering

  /// Answers the received lines while the client has space; sends all immediate replies together.
  func answerAll() {
    // Events that occur during a write are handled after it.
    guard let answer, !isWriting, !isResting else { return }
    cost = 0
    while !isAnswering, hasRoom, cost < Self.highestCost, let event = events.popFirst() {
      isAnswering = true
      switch event {
      case .line(let line) where isGone && line.onlyAsks: settle(costing: 0)
      case .line(let line): begin(line, answer)
      case .unfinished: refuse(.unfinished)
      case .tooLong:
        refuse(.lineTooLong)
        isOver = true
      }
      if events.isEmpty { flush() }
    }
    flush()
    if cost >= Self.highestCost { rest() }
    if isOver, !isAnswering, events.isEmpty { finish() }
  }

  /// Whether the client reads its replies, or can no longer read.
  var hasRoom: Bool { unwritten == 0 || isGone || context?.channel.isWritable ?? true }

  /// Gives other connections their turn; uses a timer, since the loop would run a task before them.
  private func rest() {
    isResting = true
    loop.scheduleTask(in: .microseconds(50)) {
      self.isResting = false
      self.answerAll()
    }
  }

  /// Answers a line; if the answer need not wait, it is complete when this function returns.
  ///
  /// A waiting answer continues on the event loop, so that no other thread is involved.
  private func begin(_ line: Line, _ answer: @escaping @Sendable (Line) async -> Line) {
    isStarting = true
    defer { isStarting = false }
    Task.immediate(executorPreference: executor) {
      let reply = await answer(line)
      finish(with: reply)
      if !isStarting { answerAll() }
    }
  }

  private func refuse(_ error: StorageError) {
    whenRefused?(error)
    finish(with: .refusal(error))
  }

  private func settle(costing replyBytes: Int) {
    isAnswering = false
    answered = turns.next()
    unanswered -= 1
    cost += Self.costOfLine + replyBytes
  }

  private func finish(with reply: Line) {
    settle(costing: reply.content.count)
    guard context != nil else { return }
    outgoing.append(reply)
    if outgoing.count >= Self.readSize { flush() }
  }

  // MARK: - Writing

  /// Returns a buffer with space for nearly every reply.
  private static func noReplies() -> WipedBytes { WipedBytes(capacity: 1024) }

  /// Sends the replies to the socket, and passes the bytes that do not fit to the channel.
  ///
  /// The socket nearly always has space. The channel's queue of pending writes costs several times
  /// as much as the system call.
  func flush() {
    guard outgoing.count > 0, let context else { return }
    var sent = 0
    // The socket is open while the channel is active. Replies must stay in order.
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
    readOn(context)
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
      self.readOn(context)
    }
    isWriting = true
    context.writeAndFlush(wrapOutboundOut(buffer), promise: written)
    isWriting = false
  }

  // MARK: - What the channel calls

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    splitter = LineSplitter()
    go()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    splitter.append(buffer.readableBytesUInt8Span, take)
    buffer.wipe()
    answerAll()
  }

  // A read during a write is the channel's last one: the write failed because the client has gone.
  // Complete lines that the client had sent before are still performed.
  func read(context: ChannelHandlerContext) {
    if hasRoomToRead || isWriting {
      context.read()
    } else {
      isReadHeldBack = true
    }
  }

  private func readOn(_ context: ChannelHandlerContext) {
    if isReadHeldBack, hasRoomToRead {
      isReadHeldBack = false
      context.read()
    }
  }

  private var hasRoomToRead: Bool {
    unanswered < Self.readAhead && events.reduce(0) { $0 + $1.size } < Self.bytesAhead
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case .inputClosed? = event as? ChannelEvent else { return }
    if let rest = splitter.finish() { take(rest) }
    end()
  }

  func channelInactive(context: ChannelHandlerContext) { go() }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    answerAll()
    stream?.goOn()
  }

  // The only error of a connection is that the client has gone. NIO closes the channel.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}

  private func take(_ event: LineSplitter.Event) {
    unanswered += 1
    events.append(event)
  }

  private func end() {
    isOver = true
    answerAll()
  }

  private func go() {
    isGone = true
    stream?.cancel()
    end()
  }
}

extension LineSplitter.Event {
  fileprivate var size: Int { if case .line(let line) = self { line.content.count } else { 0 } }
}
