#if Etcd
  internal import GRPCCore
  internal import KistCluster
  internal import KistCore
  internal import KistServer
  internal import Logging
  internal import SwiftProtobuf
  private import Synchronization

  /// The nodes of a cluster, of which one is in use at a time.
  ///
  /// After a failure, the next call uses the next node.
  final class Nodes: Sendable {
    /// The time for a call, with all its attempts.
    ///
    /// It is shorter than the time that kistd waits, so that kistd receives the error.
    static let deadline = Duration.milliseconds(2800)
    /// The time for an attempt at one node of several.
    static let attempt = Duration.milliseconds(1200)
    /// The time between two attempts.
    static let pause = Duration.milliseconds(50)

    private struct State {
      var certificates: CertificateTexts
      /// The index of the node in use.
      var index = 0
      var client: NodeClient?
      /// The nodes whose failure was logged, and that have answered no call since then.
      var failed: Set<Int> = []
      /// The warnings, by their subject.
      var warnings: [WarningSubject: [String]] = [:]
    }

    let addresses: [NodeAddress]
    /// Runs the connections, and the tasks that wait for replies.
    let executor: EventLoopExecutor
    private let logger: Logger
    /// A gate for each node, for one that answers and fails by turns.
    private let gates: [LogGate]
    private let state: Mutex<State>

    init(
      _ addresses: [NodeAddress], _ certificates: CertificateTexts, _ executor: EventLoopExecutor,
      logger: Logger
    ) {
      (self.addresses, self.executor) = (addresses, executor)
      state = Mutex(State(certificates: certificates))
      self.logger = logger
      gates = addresses.map { _ in LogGate() }
    }

    /// Sends a request that changes nothing, to further nodes if one fails.
    ///
    /// - Parameter mayExceedLimit: Whether the reply may exceed the limit of a message. The failure
    ///   then says so, and no further node is tried.
    func read<Request: SwiftProtobuf.Message, Reply: SwiftProtobuf.Message>(
      _ method: MethodDescriptor, _ request: Request, mayExceedLimit: Bool = false
    ) async throws(CallFailure) -> Reply {
      try await call(method, request, repeats: true, mayExceedLimit: mayExceedLimit)
    }

    /// Sends a request that may change records.
    ///
    /// It is sent to a further node only if the one before cannot have received it.
    func change<Request: SwiftProtobuf.Message, Reply: SwiftProtobuf.Message>(
      _ method: MethodDescriptor, _ request: Request
    ) async throws(CallFailure) -> Reply {
      try await call(method, request, repeats: false, mayExceedLimit: false)
    }

    private func call<Request: SwiftProtobuf.Message, Reply: SwiftProtobuf.Message>(
      _ method: MethodDescriptor, _ request: Request, repeats: Bool, mayExceedLimit: Bool
    ) async throws(CallFailure) -> Reply {
      let clock = ContinuousClock()
      let end = clock.now + Self.deadline
      while true {
        let client = try client()
        let wasSent = Flag()
        let rest = clock.now.duration(to: end)
        let limit = addresses.count > 1 ? min(rest, Self.attempt) : rest
        let failure: CallFailure
        do {
          let reply: Reply = try await within(
            limit, thenIfSet: wasSent, repeats ? limit : rest, on: executor
          ) {
            try await client.call(method, request, wasSent: wasSent)
          }
          noteAnswer(of: client)
          return reply
        } catch {
          failure = CallFailure(error, wasSent: wasSent.isSet, mayExceedLimit: mayExceedLimit)
        }
        guard failure.concernsNode, !Task.isCancelled else { throw failure }
        advance(from: client, because: failure)
        guard repeats || !failure.mayBeMade, clock.now + Self.pause < end else { throw failure }
        // All nodes refuse requests until a leader is elected.
        try? await Task.sleep(for: Self.pause)
      }
    }

    /// Asks a node for its version; returns `nil` if it does not tell this user.
    func version(of address: NodeAddress) async throws(CallFailure) -> EtcdVersion? {
      let certificates = state.withLock(\.certificates)
      do {
        let reply: Etcdserverpb_StatusResponse = try await within(
          Self.deadline, thenIfSet: Flag(), Self.deadline, on: executor
        ) { [executor] in
          try await NodeClient(address, certificates, executor).call(
            Etcdserverpb_Maintenance.Method.Status.descriptor, Etcdserverpb_StatusRequest(),
            wasSent: Flag())
        }
        return EtcdVersion(reply.version)
      } catch {
        let failure = CallFailure(error, wasSent: true, mayExceedLimit: false)
        // With users, newer versions of etcd answer this only to the user root.
        guard failure.error.code == .denied else { throw failure }
        return nil
      }
    }

    /// Returns the client of the node in use.
    func client() throws(CallFailure) -> NodeClient {
      try state.withLock { state throws(CallFailure) in
        if let client = state.client { return client }
        do {
          let client = try NodeClient(addresses[state.index], state.certificates, executor)
          state.client = client
          return client
        } catch {
          let failure = CallFailure(
            error: StorageError(
              .unavailable, "the certificates cannot be used", hint: "see the log of kist-etcd"),
            mayBeMade: false, concernsNode: true, reason: error)
          note(failure, &state)
          throw failure
        }
      }
    }

    /// Abandons a client after a failure, and uses the next node from now on.
    func advance(from client: NodeClient, because failure: CallFailure) {
      state.withLock { state in
        guard state.client === client else { return }
        note(failure, &state)
        state.client = nil
        state.index = (state.index + 1) % addresses.count
      }
      client.abandon()
    }

    /// Logs the first failure of the node in use, until it answers again.
    private func note(_ failure: CallFailure, _ state: inout State) {
      guard !state.failed.contains(state.index), gates[state.index].pass() != nil else { return }
      state.failed.insert(state.index)
      logger.warning("the node at \(addresses[state.index]) failed: \(failure.reason)")
    }

    private func noteAnswer(of client: NodeClient) {
      state.withLock { state in
        guard state.client === client, state.failed.remove(state.index) != nil else { return }
        logger.notice("the node at \(addresses[state.index]) answers again")
      }
    }

    /// Sets the warnings about a subject, and logs those that are new.
    func warn(_ texts: [String], about subject: WarningSubject) {
      let before = state.withLock { $0.warnings.updateValue(texts, forKey: subject) } ?? []
      for text in texts where !before.contains(text) { logger.warning("\(text)") }
    }

    /// What the user of a vault should know, in each reply of `head`.
    var warnings: [String] { state.withLock { $0.warnings.values.flatMap(\.self).sorted() } }

    /// Connects again at the next call, with these certificates.
    func reconnect(_ certificates: CertificateTexts) {
      state.withLock { state in
        state.certificates = certificates
        let client = state.client
        state.client = nil
        return client
      }?.abandon()
    }
  }

  /// What a warning is about.
  enum WarningSubject {
    case nodes, certificate, quota
  }

  /// Runs a function for a limited time, and does not wait for its end after that.
  ///
  /// - Parameters:
  ///   - flag: If it is set when the limit is reached, the other limit applies.
  ///   - limitIfSet: The other limit, which also counts from the start.
  ///   - executor: Runs the function and the limits, so the function must not block its thread.
  func within<Value: Sendable>(
    _ limit: Duration, thenIfSet flag: Flag, _ limitIfSet: Duration,
    on executor: EventLoopExecutor,
    _ run: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let result = OneResult<Value>()
    let work = Task(executorPreference: executor) {
      do { result.set(.success(try await run())) } catch { result.set(.failure(error)) }
    }
    let timer = Task(executorPreference: executor) {
      try await Task.sleep(for: limit)
      if flag.isSet, limitIfSet > limit { try await Task.sleep(for: limitIfSet - limit) }
      result.set(.failure(DeadlineExceeded()))
    }
    defer {
      work.cancel()
      timer.cancel()
    }
    return try await withTaskCancellationHandler {
      try await result.wait()
    } onCancel: {
      result.set(.failure(CancellationError()))
    }
  }

  private struct DeadlineExceeded: Error {}

  /// A result that is set once; later values are ignored.
  final class OneResult<Value: Sendable>: Sendable {
    private enum State {
      case empty
      case waiting(CheckedContinuation<Value, any Error>)
      case set(Result<Value, any Error>)
    }

    private let state = Mutex(State.empty)

    func set(_ result: Result<Value, any Error>) {
      let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
        switch state {
        case .set: return nil
        case .empty:
          state = .set(result)
          return nil
        case .waiting(let continuation):
          state = .set(result)
          return continuation
        }
      }
      continuation?.resume(with: result)
    }

    func wait() async throws -> Value {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Value, any Error>? in
          if case .set(let result) = state { return result }
          state = .waiting(continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    }
  }
#endif
