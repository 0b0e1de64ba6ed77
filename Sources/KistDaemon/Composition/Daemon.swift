internal import CLinux
internal import Glibc
internal import KistCore
internal import KistServer
internal import KistSystem
internal import KistWire
internal import Logging

/// What kistd does, once it knows what was asked of it.
struct Daemon: Sendable {
  var options: Options
  /// Opens the storage; what it has begun cannot be cancelled.
  var open: @Sendable () async throws(StorageError) -> OpenStorage
  var environment: @Sendable (String) -> String?
  var logger: Logger
  var previous: Hardening.Previous
  var sockets = PassedSockets()
  var manager = ServiceManager.none

  /// Serves until the task is cancelled, or for as long as the command runs; gives the exit status.
  ///
  /// The replies in flight are finished, and then the storage is closed. A storage that is still
  /// being opened is given up: whatever that was doing may end at any moment without harm. It is
  /// opened again whenever that is asked for.
  ///
  /// Throws `denied` where those of other users could not be told from this user's processes.
  func run(reopening requests: AsyncStream<Void>) async throws -> CInt {
    guard isOwnUserKnown() else { throw StorageError.unknownUser }
    guard !options.command.isEmpty else {
      let socket = try listeningSocket()
      return try await serve(at: socket, reopening: requests) { server in
        try await server()
        return 0
      } ?? 0
    }
    return try await withSocketOfItsOwn { location in
      try await serve(at: DaemonSocket(claiming: location), reopening: requests) { server in
        let child = try ChildProcess.start(
          options.command, socket: location.path, previous: previous)
        return try await child?.status(whileRunning: server)
      } ?? 128 + (Signals.handOver() ?? 0)
    }
  }

  /// Gives what the body gives, or `nil` when kistd was told to stop before there was a storage.
  private func serve(
    at socket: DaemonSocket, reopening requests: AsyncStream<Void>,
    _ body: (@escaping @Sendable () async throws -> Void) async throws -> CInt?
  ) async throws -> CInt? {
    defer { socket.remove() }
    guard let opened = try await untilCancelled(openToServe) else { return nil }
    let audit = AuditLog(options, logger: logger)
    let storage = Leased(await Served(opened, audit))
    let result: Result<CInt?, any Error>
    do {
      result = .success(
        try await body { try await answer(from: storage, audit, at: socket, reopening: requests) })
    } catch { result = .failure(error) }
    await storage.use { await $0.storage.close() }
    logger.debug("stopped")
    return try result.get()
  }

  private func answer(
    from storage: Leased<Served>, _ audit: AuditLog?, at socket: DaemonSocket,
    reopening requests: AsyncStream<Void>
  ) async throws {
    await logServing(storage, at: socket)
    // By then libdispatch has ended the threads that had nothing to do for five seconds, whose share
    // of malloc(3)'s memory keeps whole pages.
    let quiet = QuietWatch(after: .milliseconds(7500)) {
      await storage.use { $0.storage.releaseMemory() }
      kist_give_back_memory()
    }
    let server = Server(
      maximumConnections: connectionsWithDescriptors(),
      whenRefused: { peer, refusal in audit?.put(refusal, of: peer) },
      whenServing: { manager.tell(.ready) },
      heartbeat: manager.watchdogInterval.map { limit in
        Heartbeat(every: limit / 2) { manager.tell(.watchdog) }
      },
      idleExit: options.idleExit.map { time in
        IdleExit(after: time) {
          await mayExit(storage)
        } whenStopping: {
          logger.info("stopping, since nobody is connected")
          manager.tell(.stopping)
        }
      },
      logger: logger,
      serve: { peer, follow in
        let handle: Exchange = { request throws(StorageError) in
          quiet.note()
          let served = await storage.enter()
          defer { storage.leave() }
          // Looked for last, so that nothing else pays for it.
          let carryOut = served.dispatch(request) ?? watching(served.storage.watch, follow)
          return try await carryOut(request)
        }
        return KistWire.answer(with: { _ in handle }, noting: audit?.notes(of: peer))
      })
    try await withThrowingDiscardingTaskGroup { group in
      if let descriptor = sockets.credentials {
        let credentials = UnitCredentials(
          load: { request throws(StorageError) in
            try await storage.use { served throws(StorageError) in
              try await served.storage.credentials.load(request)
            }
          },
          whenAnswered: { peer, names, failure in
            audit?.put("credential", of: peer, names, failure: failure)
          }, logger: logger)
        group.addTask {
          try await ByteServer(give: credentials.answer).run(listeningOn: descriptor)
        }
      }
      group.addTask {
        try await tellHowItStands(storage)
        for await _ in requests {
          manager.tell(.reloadingNow())
          await reopen(storage, audit)
          await logServing(storage, at: socket)
          manager.tell(.ready)
          try await tellHowItStands(storage)
        }
      }
      try await server.run(listeningOn: socket.descriptor)
      group.cancelAll()
    }
  }
}
