internal import KistCore
internal import KistSystem
internal import KistWire
private import Synchronization

/// Sends one request after another over a socket, and reconnects when needed.
final class Connection: Sendable {
  private let socketPath: String
  private let patience: Duration
  private let socket = Mutex<Socket?>(nil)
  private let thread = BlockingThread()

  init(to socketPath: String, patience: Duration) {
    self.socketPath = socketPath
    self.patience = patience
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
    let made = try Socket(connectingTo: socketPath, by: deadline)
    kept = made
    return made
  }
}
