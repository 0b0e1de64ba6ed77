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
    let reply = await withCheckedContinuation { continuation in
      requests.put(Request(line: line, deadline: moment, continuation: continuation))
    }
    return try reply.get()
  }

  private func startThread() throws(StorageError) {
    try thread.withLock { thread throws(StorageError) in
      if thread != nil { return }
      thread = try Thread { [requests, socketPath, deadline] in
        let carrier = Carrier(socketPath: socketPath, patience: deadline)
        while let request = requests.take() {
          request.continuation.resume(returning: carrier.carry(request.line, by: request.deadline))
        }
      }
    }
  }
}

private struct Request: Sendable {
  let line: Line
  let deadline: ContinuousClock.Instant
  let continuation: CheckedContinuation<Result<Line, StorageError>, Never>
}
