internal import Glibc
internal import KistClient
package import KistCluster
internal import KistCore
internal import KistJSON
internal import KistSystem
internal import KistWire
private import Synchronization

extension Cluster {
  /// Returns the cluster that an adapter serves at a socket.
  ///
  /// It connects at the first call, and again at the first call after the connection was lost. Each
  /// sequence of changes has its own connection. The adapter must run as this user.
  ///
  /// If the connection is lost, the calls in progress throw `unavailable`. The outcome of a commit is
  /// then `unknown`. A reply that does not follow the protocol has the same effect.
  ///
  /// - Parameters:
  ///   - connections: The number of calls that can be in progress at the same time, besides changes.
  ///   - deadline: The time for a call, including the wait for a free connection. It is shorter than
  ///     the time for a change of a vault, which can need several calls. Changes have no time limit
  ///     after the first reply.
  package static func remote(
    socketPath: String, connections: Int = 4, deadline: Duration = .seconds(3)
  ) -> Cluster {
    let adapter = Adapter(socketPath: socketPath)
    let program = ListeningProgram(
      lineLimit: lineLimit, storageError: storageError(for:at:timeout:wasSent:))
    let exchange = adapter.exchange(
      over: connect(to: socketPath, threads: connections, deadline: deadline, program: program))
    return Cluster(
      head: adapter.reading(Operation.head.clientFunction(over: exchange)),
      list: adapter.reading(Operation.list.clientFunction(over: exchange)),
      records: adapter.reading(mayExceedLimit: true) { names throws(StorageError) in
        let records = try await Operation.records.clientFunction(over: exchange)(names)
        guard records.count == names.count else {
          throw .malformedReply(.key("records", "has another number of records"))
        }
        return records
      },
      commit: adapter.committing(Operation.commit.clientFunction(over: exchange)),
      changes: adapter.reading { request throws(StorageError) in
        let operation = Operation.changes
        let line = try requestLine(operation.encodeRequest(request), limit: lineLimit)
        let thread = BlockingThread()
        let open = openWatch(at: socketPath, deadline: deadline, program: program, on: thread)
        let (reply, next) = try await open(line)
        _ = try readReply(reply, to: operation.name)
        return ClusterChanges(on: thread.executor, next: adapter.events(of: next))
      }
    ).enforcingLimits()
  }
}

/// The adapter at a socket, whose replies may be wrong.
private struct Adapter: Sendable {
  let socketPath: String

  /// Returns an exchange that numbers the requests.
  func exchange(over lines: @escaping LineExchange) -> Exchange {
    let latest = Mutex(0)
    return { request throws(StorageError) in
      let id = latest.withLock { latest in
        latest += 1
        return latest
      }
      let reply = try await lines(requestLine(request, id: id, limit: lineLimit))
      do throws(StorageError) { return try readReply(reply, to: request.operation, id: id) } catch {
        throw checked(error)
      }
    }
  }

  /// Returns a function whose errors have no outcome, because it changes nothing.
  ///
  /// - Parameter mayExceedLimit: whether the caller can request fewer records after `tooLarge`.
  func reading<Input, Output>(
    mayExceedLimit: Bool = false,
    _ call: @escaping @Sendable (Input) async throws(StorageError) -> Output
  ) -> @Sendable (Input) async throws(StorageError) -> Output {
    { input throws(StorageError) in
      do throws(StorageError) { return try await call(input) } catch {
        var error = checked(error)
        error.outcome = nil
        if error.code == .tooLarge, !mayExceedLimit { error = ofAdapter(error) }
        throw error
      }
    }
  }

  func committing(
    _ commit: @escaping @Sendable (Commit) async throws(StorageError) -> CommitReply
  ) -> @Sendable (Commit) async throws(StorageError) -> CommitReply {
    { input throws(StorageError) in
      do throws(StorageError) { return try await commit(input) } catch {
        var error = checked(error)
        if error.outcome == .unknown { error.hint = StorageError.noAnswer.hint }
        throw error
      }
    }
  }

  /// Returns a function that waits for the next event.
  ///
  /// After an error, it returns only `nil`, because events may be missing.
  func events(
    of next: @escaping NextLine
  ) -> @Sendable () async throws(StorageError) -> ClusterEvent? {
    let hasEnded = Mutex(false)
    let read = reading { (_: Void) throws(StorageError) in
      try await next().map { line throws(StorageError) in try event(in: line) }
    }
    return { () throws(StorageError) in
      if hasEnded.withLock(\.self) { return nil }
      do throws(StorageError) {
        let event = try await read(())
        if event == .compacted { hasEnded.withLock { $0 = true } }
        return event
      } catch {
        hasEnded.withLock { $0 = true }
        throw error
      }
    }
  }

  /// Returns the error as one of the adapter.
  private func ofAdapter(_ error: StorageError) -> StorageError {
    var error = error
    error.code = .unavailable
    error.hint = "see the log of the adapter that listens at \(socketPath)"
    return error
  }

  /// Returns the error with a code that a cluster may throw.
  ///
  /// Otherwise an adapter could report that a credential does not exist, for example.
  private func checked(_ error: StorageError) -> StorageError {
    var error = error
    error.current = nil
    switch error.code {
    case .unavailable, .busy, .full, .denied, .tooLarge, .badRequest, .unknownOperation: break
    case .internal, .notFound, .conflict, .expired, .locked, .timeout, .corrupt, .wrongPassphrase:
      error = ofAdapter(error)
    }
    if error.message.utf8.count > longestText {
      error.message = "the adapter answered with an error whose message is too long"
    }
    if let hint = error.hint, hint.utf8.count > longestText { error.hint = nil }
    return error
  }
}

/// Returns the event in a line; throws the error in it if there is one.
private func event(in line: Line) throws(StorageError) -> ClusterEvent {
  let failure: StorageError
  do throws(JSONError) {
    let object = try JSONObject(line.content)
    guard let error = object["error"] else { return try ClusterEvent(object) }
    failure = try StorageError(error.object())
  } catch { throw .malformedReply(error) }
  throw failure
}

@Sendable private func storageError(
  for error: SocketError, at path: String, timeout: Duration, wasSent: Bool
) -> StorageError {
  switch error {
  case .refused(let error): error
  case _ where error.meansNothingListens:
    StorageError(
      .unavailable, "no adapter is listening at \(path)",
      hint: "start the program that serves the cluster")
  case .notConnected(EACCES), .notConnected(EPERM):
    StorageError(
      .denied, "you may not use the socket \(path)",
      hint: "run the adapter as the user that runs kistd")
  case .notOurs, .ownUserUnknown:
    StorageError(
      .denied, "the process that listens at \(path) may be another user's",
      hint: "nothing was sent to it; run the adapter as the user that runs kistd")
  case .notConnected(let code):
    StorageError(.unavailable, "cannot connect to \(path): \(systemText(of: code))")
  case .ended:
    StorageError(.unavailable, "the connection to the adapter at \(path) ended")
  case .timedOut:
    StorageError(.unavailable, "the adapter at \(path) did not answer within \(timeout)")
  case .tooLong:
    StorageError(
      .unavailable, "the adapter at \(path) sent a line over the limit of \(lineLimit) bytes")
  }
}
