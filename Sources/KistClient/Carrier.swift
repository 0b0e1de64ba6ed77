internal import KistCore
internal import KistWire

/// Sends one request after another over a socket, and reconnects when needed.
final class Carrier {
  private let socketPath: String
  private let patience: Duration
  private var socket: Socket?

  init(socketPath: String, patience: Duration) {
    self.socketPath = socketPath
    self.patience = patience
  }

  func carry(_ line: Line, by deadline: ContinuousClock.Instant) -> Result<Line, StorageError> {
    do throws(SocketError) {
      return .success(try reply(to: line, by: deadline))
    } catch {
      let wasSent = (socket?.bytesSent ?? 0) > 0
      // Also after a timeout: the late reply would be taken for the reply to the next request.
      socket = nil
      let failure = storageError(for: error, at: socketPath, patience: patience)
      return .failure(failure.withOutcome(wasSent ? .unknown : .unchanged))
    }
  }

  private func reply(to line: Line, by deadline: ContinuousClock.Instant, mayRemake: Bool = true)
    throws(SocketError) -> Line
  {
    let socket = try liveSocket(by: deadline)
    do {
      try socket.send(line, by: deadline)
      let reply = try socket.receive(by: deadline)
      if reply.isLast { self.socket = nil }
      return reply.line
    } catch {
      let isUnsent = if case .ended = error { socket.bytesSent == 0 } else { false }
      // A peer that refuses a connection sends its error before it reads anything, and then closes.
      // On a connection that was idle, that error means eviction and does not concern this request.
      if !isUnsent || socket.isNew, let refusal = socket.unsolicitedLine() {
        self.socket = nil
        return refusal
      }
      guard isUnsent, mayRemake else { throw error }
      self.socket = nil
      return try reply(to: line, by: deadline, mayRemake: false)
    }
  }

  private func liveSocket(by deadline: ContinuousClock.Instant) throws(SocketError) -> Socket {
    if let socket, socket.isQuiet { return socket }
    socket = nil
    let made = try Socket(connectingTo: socketPath, by: deadline)
    socket = made
    return made
  }
}
