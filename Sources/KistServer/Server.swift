package import KistWire
package import Logging
internal import NIOCore
internal import NIOPosix

/// Serves lines on a listening socket.
package struct Server: Sendable {
  /// The connections that are served at once where nobody says how many.
  package static let usualMaximumConnections = 128

  /// The connections that are served at once; for one more, another one makes room.
  package var maximumConnections: Int
  /// How long replies in flight may take when the server is told to stop.
  package var grace: Duration
  /// How often at most the log tells of those who are refused or make room.
  package var logInterval: Duration
  /// Who is served.
  package var admits: @Sendable (Peer) -> Bool
  /// Told of whoever is not served, and of lines that are none.
  package var whenRefused: @Sendable (Peer, Refusal) -> Void
  /// Called once, when requests are answered.
  package var whenServing: @Sendable () -> Void
  package var heartbeat: Heartbeat?
  /// Ends the server as cancelling it would.
  package var idleExit: IdleExit?
  package var logger: Logger
  /// What answers the lines of a connection, one after another, and may have lines follow a reply; never
  /// cancelled.
  package var serve: @Sendable (Peer, @escaping Follow) -> @Sendable (Line) async -> Line

  package init(
    maximumConnections: Int = usualMaximumConnections, grace: Duration = .seconds(10),
    logInterval: Duration = .seconds(10),
    admits: @escaping @Sendable (Peer) -> Bool = Peer.isOwner,
    whenRefused: @escaping @Sendable (Peer, Refusal) -> Void = { _, _ in },
    whenServing: @escaping @Sendable () -> Void = {}, heartbeat: Heartbeat? = nil,
    idleExit: IdleExit? = nil, logger: Logger,
    serve: @escaping @Sendable (Peer, @escaping Follow) -> @Sendable (Line) async -> Line
  ) {
    self.maximumConnections = maximumConnections
    self.grace = grace
    self.logInterval = logInterval
    self.admits = admits
    self.whenRefused = whenRefused
    self.whenServing = whenServing
    self.heartbeat = heartbeat
    self.idleExit = idleExit
    self.logger = logger
    self.serve = serve
  }

  /// Serves until the task is cancelled; then accepts no more, carries out what was received,
  /// finishes the replies, and returns, all within `grace`.
  ///
  /// The socket is closed at the end. Throws when it cannot be listened on.
  package func run(listeningOn descriptor: CInt) async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    do {
      let isDone = try await run(listeningOn: descriptor, group.next())
      // What was given up on still runs there, and ends with the process.
      if isDone { try await group.shutdownGracefully() }
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  /// Tells whether every connection came to its end.
  private func run(listeningOn descriptor: CInt, _ loop: any EventLoop) async throws -> Bool {
    let admission = Admission(
      maximumConnections: maximumConnections, logInterval: logInterval, admits: admits,
      whenRefused: whenRefused, logger: logger)
    // The bootstrap backs off for a second when the process is out of descriptors.
    // One client at a time, since those who are in wait while one is admitted.
    let listener = try await ServerBootstrap(group: loop)
      .serverChannelOption(.maxMessagesPerRead, value: 1)
      .bind(descriptor) { channel in
        channel.eventLoop.makeCompletedFuture { try admission.admit(channel) }
      }
    let isDone = loop.makePromise(of: Bool.self)
    let executor = EventLoopExecutor(loop)
    // A task of its own, so that cancelling the caller cancels no request.
    Task(executorPreference: executor) {
      do {
        try await answerConnections(to: listener, admission, executor)
        isDone.succeed(true)
      } catch { isDone.fail(error) }
    }
    loop.execute(whenServing)
    // On the loop, where nobody is admitted meanwhile; whoever has connected since waits in the socket.
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
    // Discarding, since a group that keeps the results of its tasks grows with every connection.
    try await withThrowingDiscardingTaskGroup { group in
      try await listener.executeThenClose { connections in
        for try await connection in connections {
          group.addTask(executorPreference: executor) {
            let peer = connection.peer
            await connection.run(serve(peer, connection.follow)) { whenRefused(peer, .line($0)) }
            admission.leave(connection)
          }
        }
      }
    }
  }
}
