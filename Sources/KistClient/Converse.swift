internal import KistCore
package import KistWire
private import Synchronization

/// Conversations with kistd: one line is sent over a connection that is made for it, and many come.
///
/// A `deadline` covers the first of them, the reply; the others are waited for as long as it takes, on a
/// thread of the connection's own. Nothing is received before it is waited for, so that what a slow client
/// has missed is kistd's to say. A task that is cancelled while it waits for one of the others ends the
/// connection; so does letting go of the function.
package func converse(
  with socketPath: String, deadline: Duration = .seconds(60)
) -> Conversation {
  { line throws(StorageError) in
    let conversation = try Listening(to: socketPath, patience: deadline)
    return (try await conversation.reply(to: line), conversation.next)
  }
}

/// A connection that is listened to: a queue of who waits for a line, and the thread that reads.
private final class Listening: Sendable {
  typealias Answer = Result<Line, StorageError>

  private struct Request: Sendable {
    /// What is to be sent first, if anything.
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
    // Nobody waits, since who does holds on to this.
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

/// Reads line after line from a connection; on one thread.
private final class Ear {
  private let socketPath: String
  private let patience: Duration
  private var socket: Socket?
  private var splitter = LineSplitter()
  /// What was received, the latest first.
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
        // Whoever refuses a connection says so before it reads anything, and closes.
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

  /// After an error there is nothing more to hear.
  private func answer(
    _ body: () throws(SocketError) -> Line
  ) -> Result<Line, StorageError> {
    do throws(SocketError) { return .success(try body()) } catch {
      socket = nil
      return .failure(storageError(for: error, at: socketPath, patience: patience))
    }
  }
}
