internal import KistCore
internal import KistServer
internal import KistWire
internal import Logging
internal import Synchronization

/// An open storage, or the error that prevented its opening.
typealias Opening = Result<OpenStorage, StorageError>

/// Why and when a storage could not be opened.
struct OpeningFailure: Sendable {
  let error: StorageError
  let time = ContinuousClock.now
}

/// A storage, and the function that performs requests on it.
///
/// It is a class, so that a request does not copy all its closures.
final class StorageHandler: Sendable {
  let storage: OpenStorage
  /// Set if the storage could not be opened; then the error is the answer to every request.
  let failure: OpeningFailure?
  let dispatch: Dispatch

  init(_ opening: Opening, _ audit: AuditLog?) async {
    switch opening {
    case .success(let storage):
      self.storage = await storage.audited(by: audit)
      failure = nil
    case .failure(let error):
      storage = await .failing(error).audited(by: audit)
      failure = OpeningFailure(error: error)
    }
    dispatch = KistWire.dispatch(
      Endpoints(serving: self.storage, audit: audit?.access(self.storage.nameSeal) ?? .none))
  }
}

/// The handlers of requests: lines of clients, and credentials for a service manager.
///
/// Each request restarts the quiet time, delays a replacement of the storage, and is logged.
struct RequestHandlers: Sendable {
  let storage: Replaceable<StorageHandler>
  let audit: AuditLog?
  let quiet: QuietWatch
  /// Tries to open a storage again after it could not be opened.
  var retryOpening: @Sendable (OpeningFailure) async -> Void = { _ in }
  /// Performed after requests that fail because the storage is unavailable.
  let unavailable: DelayedCheck?
  let holdBack: @Sendable (StorageError) async -> Void

  /// Returns the handler of the lines of a client.
  func answer(
    _ peer: Peer, _ registerStream: @escaping RegisterStream
  ) -> @Sendable (Line) async -> Line {
    let handle: NotedExchange = { request, note throws(StorageError) in
      try await perform { served throws(StorageError) in
        try await served.dispatch(request, registerStream)(request, &note)
      }
    }
    return KistWire.answer(with: { _, _ in handle }, noting: audit?.notes(of: peer))
  }

  /// Returns the handler for a service manager that requests the credentials of units.
  func unitCredentials(logger: Logger) -> UnitCredentials {
    let operation = "credential"
    return UnitCredentials(
      load: { request, peer throws(StorageError) in
        let start = SystemTick.now()
        var failure: StorageError.Code?
        defer {
          audit?.put(
            operation, of: peer, RequestedNames(request.key), failure: failure, since: start)
        }
        do throws(StorageError) {
          return try await perform { served throws(StorageError) in
            try await served.storage.credentials.load(request)
          }
        } catch {
          failure = error.code
          throw error
        }
      },
      whenRefused: { peer in audit?.put(operation, of: peer, failure: .denied) }, logger: logger)
  }

  private func perform<Output>(
    _ request: (StorageHandler) async throws(StorageError) -> Output
  ) async throws(StorageError) -> Output {
    quiet.note()
    var isRepeated = false
    while true {
      do throws(StorageError) { return try await storage.use(request) } catch {
        if !isRepeated, let failure = await openingFailure(behind: error) {
          await retryOpening(failure)
          isRepeated = true
          continue
        }
        if error.code == .unavailable { unavailable?.request() }
        // Delays after the use of the storage, so that a reload, and the requests that wait for it, do not wait.
        await holdBack(error)
        throw error
      }
    }
  }

  /// Returns the failure to open the storage, if that is the reason for the error of a request.
  ///
  /// Then the request was not performed.
  private func openingFailure(behind error: StorageError) async -> OpeningFailure? {
    await storage.use { served in
      guard let failure = served.failure, failure.error.code == error.code,
        failure.error.message == error.message
      else { return nil }
      return failure
    }
  }
}

/// A value that many requests use at the same time, and that can be replaced between them.
final class Replaceable<Value: Sendable>: Sendable {
  private struct State {
    var value: Value
    var users = 0
    var isBeingReplaced = false
    /// Resumed when the last user has left a value that is being replaced.
    var whenUnused: CheckedContinuation<Void, Never>?
    /// Callers that wait for the new value.
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  init(_ value: Value) { state = Mutex(State(value: value)) }

  /// Passes the value to the closure; waits while the value is being replaced.
  func use<Result, Failure>(
    _ body: (Value) async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let value = await enter()
    defer { leave() }
    return try await body(value)
  }

  private func enter() async -> Value {
    while true {
      let value = state.withLock { state -> Value? in
        if state.isBeingReplaced { return nil }
        state.users += 1
        return state.value
      }
      if let value { return value }
      await waitForTheNext()
    }
  }

  /// Replaces the value when it has no more users; replacements wait for each other.
  func replace(_ make: (Value) async -> Value) async {
    await waitUntilUnused()
    let new = await make(state.withLock { $0.value })
    let waiting = state.withLock { state in
      state.value = new
      state.isBeingReplaced = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  private func leave() {
    let whenUnused = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.users -= 1
      guard state.users == 0 else { return nil }
      defer { state.whenUnused = nil }
      return state.whenUnused
    }
    whenUnused?.resume()
  }

  private func waitForTheNext() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.isBeingReplaced { state.waiting.append(continuation) }
        return !state.isBeingReplaced
      }
      if isThere { continuation.resume() }
    }
  }

  private func waitUntilUnused() async {
    while !state.withLock({ state in
      defer { state.isBeingReplaced = true }
      return !state.isBeingReplaced
    }) { await waitForTheNext() }
    await withCheckedContinuation { continuation in
      let isUnused = state.withLock { state in
        if state.users > 0 { state.whenUnused = continuation }
        return state.users == 0
      }
      if isUnused { continuation.resume() }
    }
  }
}
