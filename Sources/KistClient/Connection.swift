internal import KistCore
internal import KistSystem
package import KistWire
private import Synchronization

/// Sends requests over a socket, one after another, and connects again if kistd has closed the
/// connection.
final class Connection: Sendable {
  private let socketPath: String
  private let timeout: Duration
  private let find: FindDaemon?
  private let program: ListeningProgram
  private let socket = Mutex<Socket?>(nil)
  private let thread = BlockingThread()

  init(
    to socketPath: String, timeout: Duration, orFind find: FindDaemon?, program: ListeningProgram
  ) {
    self.socketPath = socketPath
    self.timeout = timeout
    self.find = find
    self.program = program
  }

  /// Returns the reply to a request.
  ///
  /// A separate thread waits for the reply. With `wait`, a short line over an open connection needs no
  /// separate thread: the caller's thread sends it, and `wait` suspends the task until the reply
  /// arrives, without blocking the thread.
  func reply(
    to line: Line, by deadline: ContinuousClock.Instant, waiting wait: ReplyWait?
  ) async throws(StorageError) -> Line {
    if let wait, let descriptor = send(line) {
      return try await reply(from: descriptor, by: deadline, waiting: wait)
    }
    return try await thread.run { [self] () throws(StorageError) in
      try reply(to: line, by: deadline)
    }
  }

  /// Returns the reply to a request.
  ///
  /// The calling thread waits for the reply.
  func replyHere(to line: Line) throws(StorageError) -> Line {
    try reply(to: line, by: .now + timeout)
  }

  /// Sends a line if the connection is open and takes the whole line at once; returns its
  /// descriptor.
  private func send(_ line: Line) -> CInt? {
    socket.withLock { socket in
      guard let socket, socket.isReusable, socket.sendAtOnce(line) else { return nil }
      return socket.descriptor
    }
  }

  /// Returns the reply to the line that was sent.
  private func reply(
    from descriptor: CInt, by deadline: ContinuousClock.Instant, waiting wait: ReplyWait
  ) async throws(StorageError) -> Line {
    while true {
      await wait(descriptor, deadline)
      let line = try socket.withLock { kept throws(StorageError) -> Line? in
        do throws(SocketError) {
          guard let reply = try kept?.receivePiece() else { return nil }
          if reply.mustClose { kept = nil }
          return reply.line
        } catch {
          if case .timedOut = error, .now < deadline { return nil }
          // Disconnects. Otherwise the late reply would be taken for the reply to the next request.
          kept = nil
          throw storageError(for: error, wasSent: true)
        }
      }
      if let line { return line }
    }
  }

  private func reply(
    to line: Line, by deadline: ContinuousClock.Instant
  ) throws(StorageError) -> Line {
    try socket.withLock { socket throws(StorageError) in
      do throws(SocketError) { return try reply(to: line, over: &socket, by: deadline) } catch {
        let wasSent = (socket?.bytesSent ?? 0) > 0
        // Disconnects even after a timeout. Otherwise the late reply would be taken for the reply
        // to the next request.
        socket = nil
        throw storageError(for: error, wasSent: wasSent)
      }
    }
  }

  private func storageError(for error: SocketError, wasSent: Bool) -> StorageError {
    program.storageError(error, socketPath, timeout, wasSent).withOutcome(
      wasSent ? .unknown : .unchanged)
  }

  private func reply(
    to line: Line, over kept: inout Socket?, by deadline: ContinuousClock.Instant,
    mayReconnect: Bool = true
  ) throws(SocketError) -> Line {
    let socket = try liveSocket(&kept, by: deadline)
    do {
      try socket.send(line, by: deadline)
      let reply = try socket.receive(by: deadline)
      if reply.mustClose { kept = nil }
      return reply.line
    } catch {
      let isUnsent = if case .ended = error { socket.bytesSent == 0 } else { false }
      let wasClosedWhileIdle = isUnsent && !socket.isNew
      // kistd may have sent an error line and closed the connection without reading the request. If
      // the connection was kept from an earlier request and no byte of this one was sent, then kistd
      // sent the line before this request, so the line is not the answer. Otherwise it is.
      if !wasClosedWhileIdle, let refusal = socket.unsolicitedLine() {
        kept = nil
        return refusal
      }
      guard isUnsent, mayReconnect else { throw error }
      kept = nil
      return try reply(to: line, over: &kept, by: deadline, mayReconnect: false)
    }
  }

  private func liveSocket(
    _ kept: inout Socket?, by deadline: ContinuousClock.Instant
  ) throws(SocketError) -> Socket {
    if let kept, kept.isReusable { return kept }
    kept = nil
    let made = try connectedSocket(
      to: socketPath, by: deadline, orFind: find, lineLimit: program.lineLimit)
    kept = made
    return made
  }
}

/// Returns a function that sends requests to kistd.
///
/// Several tasks can share the function. When the last copy of the function is released, its
/// threads end and its sockets are closed.
///
/// If kistd closed the connection before any byte of a request was sent, the function connects
/// again, once, and sends the request. If the connection ends later, the request fails with the
/// outcome `unknown`. The function does not send it again, because kistd may have performed it.
///
/// A cancelled task still waits for the reply, because kistd may already be performing the request.
///
/// - Parameter threads: the number of threads. Each thread has its own connection, and sends one
///   request at a time. With several threads, kistd can write several changes in one transaction.
///   With 0 threads, there is one connection, and each request blocks the calling thread.
/// - Parameter deadline: the time for a whole request, including the wait for a free connection.
/// - Parameter find: if no process listens, the function connects to the socket path that `find`
///   returns.
/// - Parameter program: the program that listens at the socket.
/// - Parameter wait: waits for the reply to a short request on the event loop of the caller. If it is
///   given, a thread carries out only long requests, and short ones that cannot be sent at once over
///   an open connection.
package func connect(
  to socketPath: String, threads: Int = 1, deadline: Duration = .seconds(60),
  orFind find: FindDaemon? = nil, program: ListeningProgram = .kistd,
  waiting wait: ReplyWait? = nil
) -> LineExchange {
  let all = (0..<max(threads, 1)).map { _ in
    Connection(to: socketPath, timeout: deadline, orFind: find, program: program)
  }
  if threads == 0 { return { line throws(StorageError) in try all[0].replyHere(to: line) } }
  let connections = FreeConnections(all)
  return { line throws(StorageError) in
    let end = ContinuousClock.now + deadline
    let connection = await connections.take()
    defer { connections.add(connection) }
    return try await connection.reply(to: line, by: end, waiting: wait)
  }
}

/// Waits on the calling thread's event loop until a descriptor can be read, at most until `end`.
///
/// It may return earlier.
package typealias ReplyWait =
  @Sendable (_ descriptor: CInt, _ end: ContinuousClock.Instant) async -> Void

/// The connections that no request is using.
private final class FreeConnections: Sendable {
  private struct State {
    var free: [Connection]
    /// The requests that wait for a connection, the first one first.
    var waiting: [CheckedContinuation<Connection, Never>] = []
  }

  private let state: Mutex<State>

  init(_ connections: [Connection]) { state = Mutex(State(free: connections)) }

  /// Waits for a connection, and removes it.
  ///
  /// It returns the one that was used last, because that one is more likely to be open.
  func take() async -> Connection {
    if let connection = state.withLock({ $0.free.popLast() }) { return connection }
    return await withCheckedContinuation { continuation in
      let free = state.withLock { state -> Connection? in
        // Another request may have ended before this runs.
        if let connection = state.free.popLast() { return connection }
        state.waiting.append(continuation)
        return nil
      }
      if let free { continuation.resume(returning: free) }
    }
  }

  func add(_ connection: Connection) {
    let next = state.withLock { state -> CheckedContinuation<Connection, Never>? in
      if !state.waiting.isEmpty { return state.waiting.removeFirst() }
      state.free.append(connection)
      return nil
    }
    next?.resume(returning: connection)
  }
}
