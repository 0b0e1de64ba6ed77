internal import CLinux
internal import Glibc
internal import KistCore
internal import KistServer
internal import KistSystem
internal import KistWire
internal import Logging

/// What an open storage reports to kistd.
struct StorageEvents: Sendable {
  /// Its connection to another program ended.
  var whenCutOff: @Sendable () -> Void
  /// It must be opened again.
  var whenOutdated: @Sendable () -> Void
}

struct Daemon: Sendable {
  var options: Options
  /// Opens the storage; an opening that has begun cannot be cancelled.
  ///
  /// The storage calls the functions that it gets.
  var open: @Sendable (StorageEvents) async throws(StorageError) -> OpenStorage
  /// Delays the answer to a failed request, such as one with a wrong passphrase.
  var holdBack: @Sendable (StorageError) async -> Void = { _ in }
  var environment: @Sendable (String) -> String?
  var logger: Logger
  var sockets = PassedSockets()
  var manager = ServiceManager.none
  var child: ChildProcess?
  var claim: Claim?
  /// The directory that was made for the socket of a command.
  var ownDirectory: String?
  /// The shortest time between two tries of requests to open a storage that could not be opened.
  var retryTime = Duration.milliseconds(100)
  var pause: @Sendable (Duration) async -> Void = sleepUnwatched
  /// Opens the storage again, once it is not in use.
  var reopenLater: @Sendable () -> Void = {}
  /// Stops kistd as its user would.
  var stop: @Sendable () -> Void = { kill(getpid(), SIGTERM) }

  /// Serves until the task is cancelled or the command ends, and returns the exit status.
  ///
  /// It finishes the replies in progress, and then closes the storage. It does not wait for a storage
  /// that is still being opened, which is safe. Each of `requests` opens the storage again.
  func run(reopening requests: AsyncStream<Void>) async throws -> CInt {
    defer { removeOwnDirectory() }
    guard isOwnUserUnambiguous() else {
      throw StorageError(
        .denied,
        "uid \(geteuid()) represents every unmapped user in this user namespace, so kistd cannot "
          + "distinguish other users from you",
        hint: "run kistd as a user that is mapped in this user namespace")
    }
    let status = try await serve(at: listeningSocket(), reopening: requests) { server in
      guard let child else {
        try await server()
        return 0
      }
      return try child.start() ? try await child.status(whileRunning: server, claim: claim) : nil
    }
    return status ?? (child == nil ? 0 : 128 + (Signals.handOver() ?? 0))
  }

  /// Returns the result of the body, or `nil` if kistd was stopped before the storage was open.
  private func serve(
    at socket: DaemonSocket, reopening requests: AsyncStream<Void>,
    _ body: (@escaping @Sendable () async throws -> Void) async throws -> CInt?
  ) async throws -> CInt? {
    defer { socket.remove() }
    if options.logFile != nil {
      // No client can reach it any more, and it would keep the next kistd from the storage.
      socket.whenRemoved(stop)
    }
    guard let opened = try await untilCancelled(openToServe) else { return nil }
    let audit = AuditLog(options, logger: logger)
    let storage = Replaceable(await StorageHandler(opened, audit))
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
    from storage: Replaceable<StorageHandler>, _ audit: AuditLog?, at socket: DaemonSocket,
    reopening requests: AsyncStream<Void>
  ) async throws {
    await logServing(storage, at: socket)
    // libdispatch ends threads after five idle seconds. Until then, their malloc(3) arenas keep
    // whole pages.
    let quiet = QuietWatch(after: .milliseconds(7500)) {
      await storage.use { $0.storage.releaseMemory() }
      kist_give_back_memory()
    }
    let handlers = RequestHandlers(
      storage: storage, audit: audit, quiet: quiet,
      retryOpening: { await retryOpening(storage, after: $0, audit, at: socket) },
      unavailable: watchForUnavailable(storage), holdBack: holdBack)
    var server = Server(logger: logger, serve: handlers.answer)
    server.maximumConnections = connectionsWithDescriptors()
    server.whenRefused = { peer, refusal in audit?.put(refusal, of: peer) }
    server.whenServing = { manager.notify(.ready) }
    server.heartbeat = manager.watchdogInterval.map { limit in
      Heartbeat(every: limit / 2) { manager.notify(.watchdog) }
    }
    server.idleExit = options.idleExit.map { time in
      IdleExit(after: time) {
        // A unit that requested a credential counts as a client, too.
        guard quiet.isQuiet(for: time), claim?.isUsed != true else { return false }
        return await mayExit(storage)
      } whenStopping: {
        logger.info("stopping, because no client is connected")
        manager.notify(.stopping)
      }
    }
    try await withThrowingDiscardingTaskGroup { [server] group in
      if let descriptor = sockets.credentials {
        let credentials = handlers.unitCredentials(logger: logger)
        group.addTask {
          try await ByteServer(logger: logger, answer: credentials.answer)
            .run(listeningOn: descriptor)
        }
      }
      group.addTask {
        try await notifyStatus(storage)
        for await _ in requests {
          manager.notify(.reloadingNow())
          await reopen(storage, audit)
          await logServing(storage, at: socket)
          manager.notify(.ready)
          try await notifyStatus(storage)
        }
      }
      try await server.run(listeningOn: socket.descriptor)
      group.cancelAll()
    }
  }

  /// Opens the storage, or returns the error that kistd then answers to every request.
  ///
  /// Without a passed socket, it throws instead and kistd ends, which informs the user. The clients
  /// of a passed socket learn about the error only from an answer.
  func openToServe() async throws(StorageError) -> Opening {
    let opening = await newOpening()
    if case .failure(let error) = opening {
      guard sockets.requests != nil else { throw error }
      log(error)
    }
    return opening
  }

  /// Opens the storage; others find the socket only while the storage is open.
  ///
  /// A command of another kistd must not wait for a kistd that ends, for example after a wrong passphrase.
  private func newOpening() async -> Opening {
    do throws(StorageError) {
      let storage = try await open(events)
      claim?.publish(try socketPath())
      return .success(storage)
    } catch {
      claim?.withdraw()
      return .failure(error)
    }
  }

  private func log(_ error: StorageError) {
    logger.error(
      "cannot open the storage; kistd answers requests with this error until it can",
      metadata: ["reason": "\(error)", "hint": "\(error.hint ?? "")"])
  }

  /// Opens the storage again as at a start, unless that needs the user or undoes a user's action.
  func reopen(_ storage: Replaceable<StorageHandler>, _ audit: AuditLog?) async {
    await storage.replace { current in
      if let status = try? await current.storage.access.status(), !status.reopensByItself {
        logger.notice("did not reopen the storage: only an interactive user can unlock it again")
        return current
      }
      await current.storage.close()
      let opening = await newOpening()
      if case .failure(let error) = opening { log(error) }
      return await StorageHandler(opening, audit)
    }
  }

  /// Tries again to open a storage that could not be opened, unless that was done since a failure.
  ///
  /// So a user who did what the error says need not restart kistd. A request waits for the try, because
  /// the answer of an earlier try may be wrong by now.
  private func retryOpening(
    _ storage: Replaceable<StorageHandler>, after seen: OpeningFailure, _ audit: AuditLog?,
    at socket: DaemonSocket
  ) async {
    var isOpened = false
    await storage.replace { current in
      guard let failure = current.failure, failure.time == seen.time else { return current }
      let rest = retryTime - failure.time.duration(to: .now)
      if rest > .zero { await pause(rest) }
      let opening = await newOpening()
      switch opening {
      case .success: isOpened = true
      case .failure(let error): if error != failure.error { log(error) }
      }
      return await StorageHandler(opening, audit)
    }
    guard isOpened else { return }
    await logServing(storage, at: socket)
    try? await notifyStatus(storage)
  }

  /// Whether the next client starts kistd again, with the session bus of that time.
  private var isStartedByClients: Bool { sockets.requests != nil || options.logFile != nil }

  private var events: StorageEvents {
    StorageEvents(whenCutOff: stopWhenCutOff, whenOutdated: reopenLater)
  }

  /// Stops kistd if the next client starts it again; first waits for commands that use it.
  ///
  /// The session bus ends at a logout, and the bus of the next login may have another address.
  @Sendable private func stopWhenCutOff() {
    guard isStartedByClients else { return }
    Task {
      try? await claim?.untilUnused()
      logger.notice("stopping, because the session bus ended; the next client starts kistd")
      stop()
    }
  }

  /// Returns a check that stops kistd if its storage is unavailable, for use after failed requests.
  ///
  /// Without this, a kistd from before a login to the desktop would never find the keyring. The
  /// check waits for a second, so that clients that try again do not start kistd each time.
  private func watchForUnavailable(_ storage: Replaceable<StorageHandler>) -> DelayedCheck? {
    guard isStartedByClients else { return nil }
    return DelayedCheck(after: .seconds(1)) {
      guard claim?.isUsed != true, await isUnavailable(storage) else { return }
      logger.notice("stopping, because the storage is unavailable; the next client starts kistd")
      stop()
    }
  }

  private func isUnavailable(_ storage: Replaceable<StorageHandler>) async -> Bool {
    await storage.use { current in
      do throws(StorageError) {
        _ = try await current.storage.access.status()
        return false
      } catch { return error.code == .unavailable }
    }
  }

  /// Returns whether a newly started kistd would have the storage in the same state.
  func mayExit(_ storage: Replaceable<StorageHandler>) async -> Bool {
    let status = await storage.use { try? await $0.storage.access.status() }
    return status?.reopensByItself ?? false
  }

  func logServing(_ storage: Replaceable<StorageHandler>, at socket: DaemonSocket) async {
    let reason = await storage.use { $0.storage.reason }
    logger.info("serving", metadata: ["reason": "\(reason ?? "")", "socket": "\(socket.path)"])
    logger.debug("opened", metadata: ["data": "\(options.dataDirectory)", "pid": "\(getpid())"])
  }

  func notifyStatus(_ storage: Replaceable<StorageHandler>) async throws {
    // A provider that does not answer must not prevent stopping.
    let summary = try await untilCancelled {
      await storage.use { await $0.storage.access.summary() }
    }
    if let summary { manager.notify(.status(summary)) }
  }
}

extension StorageStatus {
  /// Whether opening it again leads to the same state; a locked storage needs the user.
  fileprivate var reopensByItself: Bool { !isLocked && reopensAtRestart }
}

extension OpenStorage {
  /// Returns a storage that answers every request with the error that prevented its opening.
  static func failing(_ error: StorageError) -> OpenStorage {
    var storage = OpenStorage(
      credentials: .failing(error),
      access: StorageAccess(
        status: { () throws(StorageError) in throw error },
        lock: { () throws(StorageError) in throw error },
        unlock: { _ throws(StorageError) in throw error }),
      reason: error.message, durability: .unknown, close: {})
    storage.keySlots = .failing(error)
    storage.backups = .failing(error)
    storage.watch = .failing(error)
    return storage
  }
}
