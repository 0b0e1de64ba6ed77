internal import KistCore
internal import KistSystem
package import KistWire
private import Synchronization

/// Sends one request after another over a socket, and reconnects when needed.
final class Connection: Sendable {
  private let socketPath: String
  private let patience: Duration
  private let find: FindDaemon?
  private let socket = Mutex<Socket?>(nil)
  private let thread = BlockingThread()

  init(to socketPath: String, patience: Duration, orFind find: FindDaemon?) {
    self.socketPath = socketPath
    self.patience = patience
    self.find = find
  }

  /// Returns the reply to a request; a thread waits for it.
  func reply(to line: Line) async throws(StorageError) -> Line {
    let deadline = ContinuousClock.now + patience
    return try await thread.run { [self] () throws(StorageError) in
      try reply(to: line, by: deadline)
    }
  }

  /// Returns the reply to a request; the calling thread waits for it.
  func replyHere(to line: Line) throws(StorageError) -> Line {
    try reply(to: line, by: .now + patience)
  }

  private func reply(
    to line: Line, by deadline: ContinuousClock.Instant
  ) throws(StorageError) -> Line {
    try socket.withLock { socket throws(StorageError) in
      do throws(SocketError) { return try reply(to: line, over: &socket, by: deadline) } catch {
        let wasSent = (socket?.bytesSent ?? 0) > 0
        // Also after a timeout: the late reply would be taken for the reply to the next request.
        socket = nil
        throw storageError(for: error, at: socketPath, patience: patience)
          .withOutcome(wasSent ? .unknown : .unchanged)
      }
    }
  }

  private func reply(
    to line: Line, over kept: inout Socket?, by deadline: ContinuousClock.Instant,
    mayReconnect: Bool = true
  ) throws(SocketError) -> Line {
    let socket = try liveSocket(&kept, by: deadline)
    do {
      try socket.send(line, by: deadline)
      let reply = try socket.receive(by: deadline)
      if reply.isLast { kept = nil }
      return reply.line
    } catch {
      let isUnsent = if case .ended = error { socket.bytesSent == 0 } else { false }
      // A peer that refuses a connection sends its error before it reads anything, and then closes.
      // On a connection that was idle, that error means eviction and does not concern this request.
      if !isUnsent || socket.isNew, let refusal = socket.unsolicitedLine() {
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
    if let kept, kept.isQuiet { return kept }
    kept = nil
    let made = try connectedSocket(to: socketPath, by: deadline, orFind: find)
    kept = made
    return made
  }
}

/// Returns a function that sends requests to kistd.
///
/// Tasks can share it.
///
/// Each of `threads` has a connection, which is made at its first request. It sends its requests
/// one at a time, in order. kistd answers the requests of one connection one after another. It
/// writes changes together only if they come over several connections. With 0 threads, there is one
/// connection, and each request blocks the thread of its caller.
///
/// If a connection was closed while idle, or is found dead before any byte of a request was sent,
/// it is made again once. If it dies later, the request fails with the outcome `unknown`. This
/// function never repeats such a request, because it cannot know whether repeating is safe. When
/// the last copy of the function is released, the threads end and the sockets are closed.
///
/// A `deadline` covers one whole request, including the wait for its turn. A cancelled task still
/// waits, because kistd may carry out a request that was sent.
///
/// If no process listens, it connects to the daemon that `find` finds, if any.
package func connect(
  to socketPath: String, threads: Int = 1, deadline: Duration = .seconds(60),
  orFind find: FindDaemon? = nil
) -> LineExchange {
  let all = (0..<max(threads, 1)).map { _ in
    Connection(to: socketPath, patience: deadline, orFind: find)
  }
  if threads == 0 { return { line throws(StorageError) in try all[0].replyHere(to: line) } }
  let turns = Turns()
  return { line throws(StorageError) in try await all[turns.next() % threads].reply(to: line) }
}

private final class Turns: Sendable {
  private let taken = Atomic(0)

  func next() -> Int { taken.wrappingAdd(1, ordering: .relaxed).oldValue }
}
