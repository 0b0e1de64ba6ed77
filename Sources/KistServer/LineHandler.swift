internal import KistCore
internal import KistWire
internal import NIOCore

/// Turns the bytes of a channel into lines, has them answered one after another, and turns the
/// replies into bytes; wipes the bytes behind it.
///
/// `NIOAsyncChannel` would do the handing over for any types between any threads. Its locks and
/// generic queues cost more than the rest of a load; none is needed here, because everything but the
/// answering itself happens on the channel's event loop. That is also what makes it `Sendable`.
///
/// Every event is answered with one line, in order. So the handler knows how many are unanswered,
/// and reads no more while there are `readAhead` of them, or `bytesAhead` wait in lines. What one
/// connection holds is bounded by a line that is answered, one that waits, one that is unfinished, and
/// two replies, each of 1 MiB at most, and one read of `readSize`.
@safe
final class LineHandler: ChannelDuplexHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = Never
  typealias OutboundOut = ByteBuffer

  /// Bytes of one read.
  static let readSize = 16 << 10
  private static let readAhead = 4
  private static let bytesAhead = 64 << 10
  /// What may be done before other connections have their turn, and what a line counts for in that.
  private static let highestCost = 256 << 10
  private static let costOfLine = 1 << 10

  private let turns: Turns
  /// When the client connected.
  let connected: Turn
  /// When a line was answered last.
  private(set) var answered: Turn?
  private let loop: any EventLoop
  let executor: EventLoopExecutor
  /// The channel's socket, where it has one.
  private let descriptor: CInt?
  private var answer: (@Sendable (Line) async -> Line)?
  private var whenRefused: (@Sendable (StorageError) -> Void)?
  private var splitter = LineSplitter()
  var events = CircularBuffer<LineSplitter.Event>()
  var unanswered = 0
  var isAnswering = false
  /// What is said once the replies have left, in place of anything else.
  var follower: Follower?
  private var isStarting = false
  /// The replies that have not left yet.
  var outgoing = noReplies()
  /// The writes that are with the channel.
  private(set) var unwritten = 0
  private var lastWrite: EventLoopFuture<Void>?
  /// Since when there have been writes with the channel.
  private(set) var unwrittenSince = NIODeadline.now()
  /// Whether no more lines come.
  var isOver = false
  /// Whether nobody is there any more to read replies.
  private(set) var isGone = false
  /// What was done since other connections had their turn, in bytes of replies.
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

  /// Answers each line, one after another, until there are no more; closes the channel.
  ///
  /// A client that has gone gets no reply, and what it had sent is carried out all the same. On the
  /// channel's event loop only.
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
    // They may hold the connection, and so this handler.
    self.answer = nil
    self.whenRefused = nil
    // The channel drops its pending writes when it closes.
    try? await lastWrite?.get()
    try? await context?.channel.close()
  }

  /// Forgets what was received and not answered, before the channel is closed.
  func forget() {
    events.removeAll()
    unanswered = 0
  }

  // MARK: - Answering

  /// Answers what was received, as long as the client has room for replies; the replies to lines that
  /// are answered at once leave together.
  func answerAll() {
    // What happens while the channel writes is looked at behind it.
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

  /// Whether the client reads its replies, or can read no more.
  var hasRoom: Bool { unwritten == 0 || isGone || context?.channel.isWritable ?? true }

  /// Lets other connections have their turn; by the clock, since the loop looks at no socket as long as
  /// it has something to execute.
  private func rest() {
    isResting = true
    loop.scheduleTask(in: .microseconds(50)) {
      self.isResting = false
      self.answerAll()
    }
  }

  /// Has a line answered: before this returns, where nothing has to be waited for.
  ///
  /// What waits goes on on the event loop: without that preference a change would be answered by way of
  /// one thread more.
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

  /// With room for nearly every reply.
  private static func noReplies() -> WipedBytes { WipedBytes(capacity: 1024) }

  /// Hands the replies to the socket, which has room for nearly all, and to the channel what of them
  /// the socket does not take: its queue of pending writes costs several times the system call.
  func flush() {
    guard outgoing.count > 0, let context else { return }
    let sent = sendAtOnce(context)
    if sent < outgoing.count { write(after: sent, context) }
    // What a large reply took up is given back.
    if outgoing.capacity > 2 * Self.readSize {
      outgoing = Self.noReplies()
    } else {
      outgoing.removeAll()
    }
    readOn(context)
  }

  private func sendAtOnce(_ context: ChannelHandlerContext) -> Int {
    // The socket is open as long as the channel is active, and replies must not overtake each other.
    guard let descriptor, unwritten == 0, context.channel.isActive else { return 0 }
    return outgoing.send(to: descriptor)
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

  // A read during a write is the channel's last one: the write found the client gone, and complete
  // lines that it had sent before are still to be carried out.
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
    follower?.goOn()
  }

  // An error of a connection is only ever that the client has gone; NIO closes the channel.
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
    follower?.cancel()
    end()
  }
}

extension LineSplitter.Event {
  /// Bytes that it holds.
  fileprivate var size: Int {
    if case .line(let line) = self { line.content.count } else { 0 }
  }
}
