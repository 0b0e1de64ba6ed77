package import KistCore
package import KistWire
package import Logging
internal import NIOCore
internal import NIOPosix

// The terms of this module:
//
// - *Line*: a request or a reply of the protocol (docs/protocol.md), without its newline.
// - *Peer*: the client process at the other end of a connection.
// - *Evict*: close a connection because there are too many.
// - *Watch stream*: the lines that kistd sends after the reply to the request `watch`.
// - *Channel*, *event loop*: a connection of NIO, and the thread on which NIO handles it.

/// A server that answers lines on a listening socket.
package struct Server: Sendable {
  /// The default of `maximumConnections`.
  package static let usualMaximumConnections = 128

  /// The name of the serving program, for errors.
  package var program = "kistd"
  /// The maximum number of bytes of a line that a client sends, without its newline.
  package var lineLimit = Limits.line
  /// The maximum number of connections at the same time.
  ///
  /// At this limit, a new connection evicts another.
  package var maximumConnections = Server.usualMaximumConnections
  /// What a client can do when it is refused or evicted at this limit.
  package var hintAtMaximum = "connect again, or give kistd a larger --max-connections"
  /// How long a stopped server may continue, to answer the requests that it has received.
  package var grace = Duration.seconds(10)
  /// The shortest time between two log lines about refused or evicted connections.
  package var logInterval = Duration.seconds(10)
  /// Decides which peers are served.
  package var admits: @Sendable (Peer) -> Bool = Peer.isOwnUser
  /// Called for each connection that is refused or evicted while the server runs, and for each line
  /// that is too long or does not end with a newline.
  package var whenRefused: @Sendable (Peer, Refusal) -> Void = { _, _ in }
  /// Called once, as soon as the server is ready to answer requests.
  package var whenServing: @Sendable () -> Void = {}
  package var heartbeat: Heartbeat?
  /// The conditions under which an idle server stops; `nil` if it never does.
  package var idleExit: IdleExit?
  package var logger: Logger
  /// Returns the function that answers the lines of a connection, in order.
  ///
  /// The server never cancels the task that answers a line.
  package var serve: @Sendable (Peer, @escaping RegisterStream) -> @Sendable (Line) async -> Line

  package init(
    logger: Logger,
    serve: @escaping @Sendable (Peer, @escaping RegisterStream) -> @Sendable (Line) async -> Line
  ) {
    self.logger = logger
    self.serve = serve
  }

  /// Serves until the task is cancelled.
  ///
  /// Then it closes the socket, and answers the received requests.
  ///
  /// Throws if the socket cannot listen.
  ///
  /// - Parameter executor: The event loop to serve on, which can have other work, too; `nil` for one of
  ///   the server's own.
  package func run(
    listeningOn descriptor: CInt, on executor: EventLoopExecutor? = nil
  ) async throws {
    if let executor {
      _ = try await serve(listeningOn: descriptor, on: executor)
      return
    }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    do {
      let isDone = try await serve(listeningOn: descriptor, on: EventLoopExecutor(group.next()))
      // A connection that did not end in time still uses the loop. It ends with the process.
      if isDone { try await group.shutDown() }
    } catch {
      try? await group.shutDown()
      throw error
    }
  }

  /// Returns whether every connection ended within `grace`.
  private func serve(
    listeningOn descriptor: CInt, on executor: EventLoopExecutor
  ) async throws -> Bool {
    let loop = executor.loop
    let admission = Admission(of: self)
    // During an admission, the connected clients wait. So the server admits only one client before
    // it serves them again.
    let listener = try await ServerBootstrap(group: loop)
      .serverChannelInitializer { $0.addAcceptPause() }
      .serverChannelOption(.maxMessagesPerRead, value: 1)
      .bind(descriptor) { channel in
        channel.eventLoop.makeCompletedFuture { try admission.admit(channel) }
      }
    let isDone = loop.makePromise(of: Bool.self)
    // A separate task, so that cancelling the caller cancels no request.
    Task(executorPreference: executor) {
      do {
        try await answerConnections(to: listener, admission, executor)
        isDone.succeed(true)
      } catch { isDone.fail(error) }
    }
    loop.execute(whenServing)
    // Must run on the loop, so that no connection is admitted at the same time.
    @Sendable func stop() {
      admission.stop()
      listener.channel.close(promise: nil)
      let end = loop.scheduleTask(in: TimeAmount(grace)) {
        logger.warning(
          "stopping before all requests were answered",
          metadata: ["connections": "\(admission.count)"])
        admission.disconnectAll()
        isDone.succeed(false)
      }
      isDone.futureResult.whenComplete { _ in end.cancel() }
    }
    let heartbeatTask = heartbeat.map { heartbeat in
      loop.scheduleRepeatedTask(initialDelay: .zero, delay: TimeAmount(heartbeat.interval)) { _ in
        heartbeat.beat()
      }
    }
    defer { heartbeatTask?.cancel() }
    let idleTask = idleExit.map { idleExit in
      Task(executorPreference: executor) {
        guard await idleExit.waitUntilDue(admission) else { return }
        idleExit.whenStopping()
        stop()
      }
    }
    defer { idleTask?.cancel() }
    return try await withTaskCancellationHandler {
      try await isDone.futureResult.get()
    } onCancel: {
      loop.execute { stop() }
    }
  }

  private func answerConnections(
    to listener: NIOAsyncChannel<Connection, Never>, _ admission: Admission,
    _ executor: EventLoopExecutor
  ) async throws {
    // A group that keeps results would grow with every connection.
    try await withThrowingDiscardingTaskGroup { group in
      try await listener.executeThenClose { connections in
        for try await connection in connections {
          group.addTask(executorPreference: executor) {
            await connection.handler.run(serve(connection.peer, connection.registerStream)) {
              whenRefused(connection.peer, .line($0))
            }
            admission.leave(connection)
          }
        }
      }
    }
  }
}

/// An action that the serving event loop repeats, to show that the loop does not hang.
package struct Heartbeat: Sendable {
  package var interval: Duration
  package var beat: @Sendable () -> Void

  package init(every interval: Duration, beat: @escaping @Sendable () -> Void) {
    self.interval = interval
    self.beat = beat
  }
}

/// A connection that the server refused or evicted, or a line that it did not accept.
package enum Refusal: Sendable {
  case connection(StorageError)
  /// A line that is too long or does not end with a newline.
  case line(StorageError)
}

/// The conditions under which an idle server stops.
package struct IdleExit: Sendable {
  /// The time without a connected client after which the server stops.
  package var after: Duration
  /// Called when no client has been connected for `after`; decides whether to stop.
  ///
  /// If it returns `false`, the server asks again after the same time.
  package var isAllowed: @Sendable () async -> Bool
  /// Called when the server is about to stop.
  package var whenStopping: @Sendable () -> Void

  package init(
    after: Duration, isAllowed: @escaping @Sendable () async -> Bool,
    whenStopping: @escaping @Sendable () -> Void = {}
  ) {
    self.after = after
    self.isAllowed = isAllowed
    self.whenStopping = whenStopping
  }

  /// Waits until no client has been connected for `after` and `isAllowed` returns `true`; returns
  /// `false` only if the task is cancelled.
  ///
  /// Must run on the event loop that admits connections, so that no client is connected when it
  /// returns.
  func waitUntilDue(_ admission: Admission) async -> Bool {
    var due = NIODeadline.now() + TimeAmount(after)
    while (try? await Task.sleep(for: Duration(due - .now()))) != nil {
      let since = admission.emptySince
      due = (since ?? .now()) + TimeAmount(after)
      guard due <= .now() else { continue }
      if await isAllowed(), admission.emptySince == since { return true }
      due = .now() + TimeAmount(after)
    }
    return false
  }
}
