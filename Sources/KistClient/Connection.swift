internal import KistCore
internal import KistWire
private import Synchronization

/// What `connect(to:)` hands out a function of: a queue of requests, and the thread that serves it.
final class Connection: Sendable {
  private let socketPath: String
  private let deadline: Duration
  private let requests = Queue<Request>()
  private let thread = Mutex<Thread?>(nil)

  init(to socketPath: String, deadline: Duration) {
    self.socketPath = socketPath
    self.deadline = deadline
  }

  deinit {
    requests.close()
    // Nothing is under way, since whoever waits for a reply holds on to this: the thread is about
    // to end, and with it the socket.
    thread.withLock { $0?.join() }
  }

  func exchange(_ line: Line) async throws(StorageError) -> Line {
    try startThread()
    let moment = ContinuousClock.now + deadline
    let reply = Reply()
    await withCheckedContinuation { continuation in
      requests.put(
        Request(line: line, deadline: moment, reply: reply, continuation: continuation))
    }
    return try reply.take().get()
  }

  private func startThread() throws(StorageError) {
    try thread.withLock { thread throws(StorageError) in
      if thread != nil { return }
      thread = try Thread { [requests, socketPath, deadline] in
        let carrier = Carrier(socketPath: socketPath, patience: deadline)
        while let request = requests.take() {
          request.reply.put(carrier.carry(request.line, by: request.deadline))
          request.continuation.resume()
        }
      }
    }
  }
}

private struct Request: Sendable {
  let line: Line
  let deadline: ContinuousClock.Instant
  let reply: Reply
  let continuation: CheckedContinuation<Void, Never>
}

/// What a request is answered with.
///
/// Who waits takes it out. The thread, which may be kept from going on at any moment, holds nothing of a
/// secret by then, as it would of what it resumes a continuation with.
private final class Reply: Sendable {
  private let answer = Mutex<Result<Line, StorageError>?>(nil)

  func put(_ result: Result<Line, StorageError>) { answer.withLock { $0 = result } }

  func take() -> Result<Line, StorageError> {
    answer.withLock { answer in
      defer { answer = nil }
      return answer ?? .failure(.internal("a request was left without an answer"))
    }
  }
}
