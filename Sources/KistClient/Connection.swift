internal import KistCore
internal import KistWire
private import Synchronization

/// A queue of requests and the thread that performs them, behind the function of `connect(to:)`.
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
    // No request is running, because a waiting caller retains this object. The thread is about to
    // end and to close the socket.
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

/// The slot for the reply to one request; the waiting task takes the reply out.
///
/// A continuation resumed with the reply would leave a secret in the thread's memory.
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
