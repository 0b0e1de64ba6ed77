internal import Glibc
internal import KistCore
internal import KistSystem
package import KistWire
private import Synchronization

/// Returns a function that starts a watch over a new connection.
///
/// That function sends the request of the watch. It returns the reply, and a function `next` that
/// waits for the next event.
///
/// Each connection has its own thread, unless one is given. The thread reads from the connection
/// only during a call of `next`. So unread events stay in kistd, which limits their number.
///
/// The connection ends when a task that waits in `next` is cancelled, or when `next` is released.
///
/// - Parameter timeout: the time limit for the reply; events have no time limit.
/// - Parameter find: if no process listens, the function connects to the kistd that `find` returns.
///   After the first connection, it no longer calls `find`, which may start a kistd.
/// - Parameter program: the program that listens at the socket.
/// - Parameter thread: the thread for one watch.
package func openWatch(
  at socketPath: String, deadline timeout: Duration = .seconds(60), orFind find: FindDaemon? = nil,
  program: ListeningProgram = .kistd, on thread: BlockingThread? = nil
) -> WatchExchange {
  let search = find.map(FirstSearch.init)
  return { line throws(StorageError) in
    let thread = thread ?? BlockingThread()
    let deadline = ContinuousClock.now + timeout
    @Sendable func run<Output: Sendable>(
      _ body: @escaping @Sendable () throws(SocketError) -> Output
    ) async throws(StorageError) -> Output {
      try await thread.run { () throws(StorageError) in
        do throws(SocketError) { return try body() } catch {
          throw program.storageError(error, socketPath, timeout, false)
        }
      }
    }
    let (reader, reply) = try await run { () throws(SocketError) in
      let socket = try connectedSocket(
        to: socketPath, by: deadline, orFind: search?.find, lineLimit: program.lineLimit)
      search?.end()
      let reader = ConnectionReader(socket, lineLimit: program.lineLimit)
      return (reader, try reader.reply(to: line, by: deadline))
    }
    return (
      reply,
      { () throws(StorageError) in
        let next: Result<Line, StorageError> = await withTaskCancellationHandler {
          do throws(StorageError) { return .success(try await run(reader.next)) } catch {
            return .failure(error)
          }
        } onCancel: {
          reader.hangUp()
        }
        return Task.isCancelled ? nil : try next.get()
      }
    )
  }
}

/// Searches for a kistd, but only until the first connection.
///
/// Before that connection, `find` may search and start a kistd. After it, `find` returns the path that
/// was found earlier, or throws if there is none.
///
/// A watch may outlive its desktop session. If it started kistd later, that kistd would use the
/// session bus of the old session.
private final class FirstSearch: Sendable {
  private struct State {
    var hasEnded = false
    var found: String?
  }

  private let search: FindDaemon
  private let state = Mutex(State())

  init(_ search: @escaping FindDaemon) { self.search = search }

  @Sendable func find() throws(StorageError) -> String {
    let state = state.withLock(\.self)
    if let found = state.found { return found }
    guard !state.hasEnded else { throw StorageError(.unavailable, "kistd is not running") }
    let found = try search()
    self.state.withLock { $0.found = found }
    return found
  }

  func end() { state.withLock { $0.hasEnded = true } }
}

/// Reads one line after another from a connection.
private final class ConnectionReader: Sendable {
  fileprivate struct State: ~Copyable {
    let socket: Socket
    var splitter: LineSplitter
    /// The events received but not yet returned, the latest first.
    var received: [LineSplitter.Event] = []
  }

  private let state: Mutex<State>
  private let descriptor: CInt

  init(_ socket: sending Socket, lineLimit: Int) {
    descriptor = socket.descriptor
    state = Mutex(State(socket: socket, splitter: LineSplitter(limit: lineLimit)))
  }

  func reply(to line: Line, by deadline: ContinuousClock.Instant) throws(SocketError) -> Line {
    try state.withLock { state throws(SocketError) in
      do throws(SocketError) { try state.socket.send(line, by: deadline) } catch {
        // kistd may have refused the connection: it then sends an error and closes, without
        // reading.
        guard case .ended = error, let refusal = state.socket.unsolicitedLine() else { throw error }
        return refusal
      }
      return try state.nextLine(by: deadline)
    }
  }

  /// Waits for the next line.
  ///
  /// After an error, ends the connection, because no further line can be received.
  func next() throws(SocketError) -> Line {
    do throws(SocketError) {
      return try state.withLock { state throws(SocketError) in try state.nextLine(by: nil) }
    } catch {
      hangUp()
      throw error
    }
  }

  /// Ends the connection.
  ///
  /// Any thread may call this. A waiting reader then gets the end of the stream.
  func hangUp() { shutdown(descriptor, CInt(SHUT_RDWR)) }
}

extension ConnectionReader.State {
  fileprivate mutating func nextLine(
    by deadline: ContinuousClock.Instant?
  ) throws(SocketError) -> Line {
    while received.isEmpty {
      var events: [LineSplitter.Event] = []
      try socket.receivePiece(by: deadline) { splitter.append($0) { events.append($0) } }
      received = events.reversed()
    }
    guard case .line(let line) = received.removeLast() else { throw .tooLong }
    return line
  }
}
