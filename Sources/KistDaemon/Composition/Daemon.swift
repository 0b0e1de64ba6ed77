internal import Glibc
package import KistCore
internal import KistServer
internal import KistWire
package import Logging

/// What kistd does, once it knows what was asked of it.
package struct Daemon: Sendable {
  package var options: Options
  /// Opens the storage; what it has begun cannot be cancelled.
  package var open: @Sendable () async throws(StorageError) -> OpenStorage
  package var environment: @Sendable (String) -> String?
  package var logger: Logger
  package var previous: Hardening.Previous

  package init(
    options: Options, open: @escaping @Sendable () async throws(StorageError) -> OpenStorage,
    environment: @escaping @Sendable (String) -> String?, logger: Logger,
    previous: Hardening.Previous
  ) {
    self.options = options
    self.open = open
    self.environment = environment
    self.logger = logger
    self.previous = previous
  }

  /// Serves until the task is cancelled, or for as long as the command runs; gives the exit status.
  ///
  /// The replies in flight are finished, and then the storage is closed. A storage that is still
  /// being opened is given up: whatever that was doing may end at any moment without harm.
  package func run() async throws -> CInt {
    guard !options.command.isEmpty else {
      let location = try socketLocation()
      return try await serve(at: location) { server in
        try await server()
        return 0
      } ?? 0
    }
    return try await withSocketOfItsOwn { location in
      try await serve(at: location) { server in
        let child = try ChildProcess.start(
          options.command, socket: location.path, previous: previous)
        return try await child?.status(whileRunning: server)
      } ?? 128 + (Signals.handOver() ?? 0)
    }
  }

  /// Gives what the body gives, or `nil` when kistd was told to stop before there was a storage.
  private func serve(
    at location: SocketLocation,
    _ body: (@escaping @Sendable () async throws -> Void) async throws -> CInt?
  ) async throws -> CInt? {
    let socket = try DaemonSocket(claiming: location)
    defer { socket.remove() }
    guard let storage = try await untilCancelled(open) else { return nil }
    let result: Result<CInt?, any Error>
    do {
      let answer = storage.answering(options)
      var state = await storage.access.state()
      state["socket"] = "\(location.path)"
      logger.info("serving", metadata: state)
      logger.debug(
        "opened",
        metadata: ["data": "\(options.dataDirectory)", "pid": "\(getpid())"])
      let server = Server(
        maximumConnections: options.maximumConnections, logger: logger, serve: { _ in answer })
      result = .success(try await body { try await server.run(listeningOn: socket.descriptor) })
    } catch { result = .failure(error) }
    await storage.close()
    logger.debug("stopped")
    return try result.get()
  }

  private func socketLocation() throws(StorageError) -> SocketLocation {
    if let path = options.socket { return try SocketLocation(path: path) }
    return try SocketLocation(
      environment: environment, uid: geteuid(), isOurDirectory: isOurDirectory)
  }

  /// A command has a daemon, and so a socket, of its own unless a path was given.
  private func withSocketOfItsOwn(
    _ body: (SocketLocation) async throws -> CInt
  ) async throws -> CInt {
    if let path = options.socket { return try await body(SocketLocation(path: path)) }
    let directory = try makeTemporaryDirectory(
      in: environment("XDG_RUNTIME_DIR").flatMap { isOurDirectory($0) ? $0 : nil } ?? "/tmp")
    defer {
      unsafe unlink(directory + "/kist.sock.lock")
      unsafe rmdir(directory)
    }
    return try await body(SocketLocation(path: directory + "/kist.sock"))
  }
}
