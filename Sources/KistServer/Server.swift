package import KistCore
package import KistWire
package import Logging
internal import NIOCore
internal import NIOPosix

/// Serves lines on a listening socket.
package struct Server: Sendable {
  /// The default number of connections that are served at once.
  package static let usualMaximumConnections = 128

  /// The number of connections that are served at once; a further connection evicts another.
  package var maximumConnections = Server.usualMaximumConnections
  /// How long the last replies may take when the server is stopped.
  package var grace = Duration.seconds(10)
  /// The shortest time between two log lines about refused or evicted connections.
  package var logInterval = Duration.seconds(10)
  /// Decides which peers are served.
  package var admits: @Sendable (Peer) -> Bool = Peer.isOwner
  /// Called for connections that are refused or evicted, and for invalid lines.
  package var whenRefused: @Sendable (Peer, Refusal) -> Void = { _, _ in }
  /// Called once, when the server answers requests.
  package var whenServing: @Sendable () -> Void = {}
  package var heartbeat: Heartbeat?
  /// When the server stops by itself, as if its task were cancelled.
  package var idleExit: IdleExit?
  package var logger: Logger
  /// Returns the handler that answers the lines of a connection in order, and is never cancelled.
  package var serve: @Sendable (Peer, @escaping BeginStream) -> @Sendable (Line) async -> Line

  package init(
    logger: Logger,
    serve: @escaping @Sendable (Peer, @escaping BeginStream) -> @Sendable (Line) async -> Line
  ) {
    self.logger = logger
    self.serve = serve
  }

  /// Serves until the task is cancelled, then performs the received requests within `grace`.
  ///
  /// It closes the socket at the end. Throws if the socket cannot listen.
  package func run(listeningOn descriptor: CInt) async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    do {
      let isDone = try await run(listeningOn: descriptor, group.next())
      // An abandoned connection still runs on the loop, and ends with the process.
      if isDone { try await group.shutdownGracefully() }
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  /// Returns whether every connection came to its end.
  private func run(listeningOn descriptor: CInt, _ loop: any EventLoop) async throws -> Bool {
    let admission = Admission(of: self)
    // The bootstrap pauses for a second when the process is out of descriptors. The server accepts
    // one client at a time, because connected clients wait during an admission.
    let listener = try await ServerBootstrap(group: loop)
      .serverChannelOption(.maxMessagesPerRead, value: 1)
      .bind(descriptor) { channel in
        channel.eventLoop.makeCompletedFuture { try admission.admit(channel) }
      }
    let isDone = loop.makePromise(of: Bool.self)
    let executor = EventLoopExecutor(loop)
    // A separate task, so that cancelling the caller cancels no request.
    Task(executorPreference: executor) {
      do {
        try await answerConnections(to: listener, admission, executor)
        isDone.succeed(true)
      } catch { isDone.fail(error) }
    }
    loop.execute(whenServing)
    // Runs on the loop, so nothing is admitted meanwhile. New connections wait in the socket.
    @Sendable func stop() {
      admission.stop()
      listener.channel.close(promise: nil)
      loop.scheduleTask(in: TimeAmount(grace)) {
        logger.warning(
          "stopping without the last replies", metadata: ["connections": "\(admission.count)"])
        admission.sever()
        isDone.succeed(false)
      }
    }
    let beating = heartbeat.map { heartbeat in
      loop.scheduleRepeatedTask(initialDelay: .zero, delay: TimeAmount(heartbeat.interval)) { _ in
        heartbeat.beat()
      }
    }
    defer { beating?.cancel() }
    let idling = idleExit.map { idleExit in
      Task(executorPreference: executor) {
        guard await idleExit.isDue(admission) else { return }
        idleExit.whenStopping()
        stop()
      }
    }
    defer { idling?.cancel() }
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
    // This group discards results, because a group that keeps them grows with every connection.
    try await withThrowingDiscardingTaskGroup { group in
      try await listener.executeThenClose { connections in
        for try await connection in connections {
          group.addTask(executorPreference: executor) {
            await connection.lines.run(serve(connection.peer, connection.beginStream)) {
              whenRefused(connection.peer, .line($0))
            }
            admission.leave(connection)
          }
        }
      }
    }
  }
}

/// A periodic action on the serving event loop that shows that the loop does not hang.
package struct Heartbeat: Sendable {
  package var interval: Duration
  package var beat: @Sendable () -> Void

  package init(every interval: Duration, beat: @escaping @Sendable () -> Void) {
    self.interval = interval
    self.beat = beat
  }
}

/// Input that the server refused without trying it.
package enum Refusal: Sendable {
  case connection(StorageError)
  /// Input that is not a valid line: too long, or cut off.
  case line(StorageError)
}

/// The conditions under which an idle server stops by itself.
package struct IdleExit: Sendable {
  /// How long no client may be connected before the server stops.
  package var after: Duration
  /// Decides at that time whether to stop; if `false`, it is called again after the same time.
  package var isAllowed: @Sendable () async -> Bool
  /// Called when nothing can prevent the stop any more.
  package var whenStopping: @Sendable () -> Void

  package init(
    after: Duration, isAllowed: @escaping @Sendable () async -> Bool,
    whenStopping: @escaping @Sendable () -> Void = {}
  ) {
    self.after = after
    self.isAllowed = isAllowed
    self.whenStopping = whenStopping
  }

  /// Waits until no client has been connected for `after`; `false` if the task is cancelled.
  ///
  /// Runs on the event loop that admits connections, so no client is connected when it returns.
  func isDue(_ admission: Admission) async -> Bool {
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
