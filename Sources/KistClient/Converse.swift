internal import KistCore
package import KistWire
private import Synchronization

/// Returns a function that sends one line over a new connection and then receives many.
///
/// A `deadline` covers the first of these lines, the reply. The wait for the others is unlimited,
/// on a thread of the connection's own. Nothing is received before a caller waits for it, so kistd
/// decides what a slow client has missed. The connection ends when a task is cancelled while it
/// waits for one of the other lines, or when the function is released.
package func converse(
  with socketPath: String, deadline: Duration = .seconds(60)
) -> Conversation {
  { line throws(StorageError) in
    let conversation = try Listening(to: socketPath, patience: deadline)
    return (try await conversation.reply(to: line), conversation.next)
  }
}

/// A connection that receives lines: a queue of callers that wait for one, and the thread that
/// reads.
private final class Listening: Sendable {
  typealias Answer = Result<Line, StorageError>

  private struct Request: Sendable {
    /// The line to send first, if any.
    let line: Line?
    let continuation: CheckedContinuation<Answer, Never>
  }

  private let requests = Queue<Request>()
  private let hangUp: SharedHangUp
  private let thread: Thread

  init(to socketPath: String, patience: Duration) throws(StorageError) {
    let hangUp = SharedHangUp()
    self.hangUp = hangUp
    let deadline = ContinuousClock.now + patience
    thread = try Thread { [requests] in
      let ear = Ear(socketPath: socketPath, patience: patience)
      while let request = requests.take() {
        let answer =
          if let line = request.line {
            ear.reply(to: line, by: deadline) { made in hangUp.value.withLock { $0 = made } }
          } else { ear.next() }
        request.continuation.resume(returning: answer)
      }
    }
  }

  deinit {
    // No caller waits, because a waiting caller retains this object.
    requests.close()
    thread.join()
  }

  func reply(to line: Line) async throws(StorageError) -> Line {
    try await withCheckedContinuation { continuation in
      requests.put(Request(line: line, continuation: continuation))
    }.get()
  }

  func next() async throws(StorageError) -> Line? {
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        requests.put(Request(line: nil, continuation: continuation))
      }
    } onCancel: {
      hangUp.value.withLock { $0?() }
    }
    return Task.isCancelled ? nil : try answer.get()
  }
}

private final class SharedHangUp: Sendable {
  let value = Mutex<HangUp?>(nil)
}

/// Reads one line after another from a connection, on one thread.
private final class Ear {
  private let socketPath: String
  private let patience: Duration
  private var socket: Socket?
  private var splitter = LineSplitter()
  /// The events received but not yet returned, the latest first.
  private var received: [LineSplitter.Event] = []

  init(socketPath: String, patience: Duration) {
    self.socketPath = socketPath
    self.patience = patience
  }

  func reply(
    to line: Line, by deadline: ContinuousClock.Instant, whenConnected: (HangUp) -> Void
  ) -> Result<Line, StorageError> {
    answer { () throws(SocketError) in
      let made = try Socket(connectingTo: socketPath, by: deadline)
      socket = made
      whenConnected(try made.makeHangUp())
      do throws(SocketError) { try made.send(line, by: deadline) } catch {
        // A peer that refuses a connection sends its error before it reads anything, and then
        // closes.
        guard case .ended = error, let refusal = made.unsolicitedLine() else { throw error }
        return refusal
      }
      return try nextLine(from: made, by: deadline)
    }
  }

  func next() -> Result<Line, StorageError> {
    answer { () throws(SocketError) in
      guard let socket else { throw .ended }
      return try nextLine(from: socket, by: nil)
    }
  }

  private func nextLine(
    from socket: Socket, by deadline: ContinuousClock.Instant?
  ) throws(SocketError) -> Line {
    while received.isEmpty {
      var events: [LineSplitter.Event] = []
      try socket.receivePiece(by: deadline) { splitter.append($0) { events.append($0) } }
      received = events.reversed()
    }
    guard case .line(let line) = received.removeLast() else { throw .tooLong }
    return line
  }

  /// Closes the socket after an error: nothing more can be received.
  private func answer(
    _ body: () throws(SocketError) -> Line
  ) -> Result<Line, StorageError> {
    do throws(SocketError) { return .success(try body()) } catch {
      socket = nil
      return .failure(storageError(for: error, at: socketPath, patience: patience))
    }
  }
}
