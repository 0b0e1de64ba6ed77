internal import Synchronization

/// A value with many concurrent users that can be replaced between their uses.
final class Leased<Value: Sendable>: Sendable {
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

  /// Replaces the value when it has no more users; one replacement at a time.
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
    await withCheckedContinuation { continuation in
      let isUnused = state.withLock { state in
        precondition(!state.isBeingReplaced, "one replacement at a time")
        state.isBeingReplaced = true
        if state.users > 0 { state.whenUnused = continuation }
        return state.users == 0
      }
      if isUnused { continuation.resume() }
    }
  }
}
