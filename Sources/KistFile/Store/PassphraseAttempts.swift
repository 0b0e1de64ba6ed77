internal import KistCore
private import Synchronization

/// Tries passphrases one at a time, because each takes memory and a processor; and answers later
/// each time that one was wrong, so that a program that guesses gains nothing by many tries.
final class PassphraseAttempts: Sendable {
  private struct State {
    var isUnderWay = false
    /// How many were wrong, one after another.
    var failures = 0
  }

  /// How long the answer to a wrong one is held back, at most.
  static let longestDelay = Duration.seconds(16)

  private let sleep: @Sendable (Duration) async -> Void
  private let state = Mutex(State())

  init(sleep: @escaping @Sendable (Duration) async -> Void) { self.sleep = sleep }

  /// Does what a passphrase may be tried in, on a thread of its own; `busy` while another one is.
  ///
  /// - Parameter passphrase: the one that is tried; what goes well without one says nothing of those
  ///   that were wrong.
  func make<Result: Sendable>(
    with passphrase: Secret?,
    _ attempt: @escaping @Sendable () throws(StorageError) -> Result
  ) async throws(StorageError) -> Result {
    try begin()
    defer { state.withLock { $0.isUnderWay = false } }
    do throws(StorageError) {
      let result = try await detached(attempt)
      if passphrase != nil { state.withLock { $0.failures = 0 } }
      return result
    } catch {
      if error.code == .wrongPassphrase { await sleep(delayOfNextFailure()) }
      throw error
    }
  }

  private func begin() throws(StorageError) {
    let isAlone = state.withLock { state in
      defer { state.isUnderWay = true }
      return !state.isUnderWay
    }
    guard isAlone else {
      throw StorageError(
        .busy, "another passphrase is being tried, or was wrong a moment ago",
        hint: "wait for some seconds and try again")
    }
  }

  /// Twice as long each time, from a second on.
  private func delayOfNextFailure() -> Duration {
    state.withLock { state in
      state.failures += 1
      return min(.seconds(1 << min(state.failures - 1, 10)), Self.longestDelay)
    }
  }
}
