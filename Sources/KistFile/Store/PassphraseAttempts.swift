internal import Dispatch
package import KistCore
private import Synchronization

/// Tries passphrases one at a time, because each attempt needs memory and processor time.
///
/// After each wrong one it waits longer, so that guessing many times gains nothing. One value
/// serves all openings of a store, so that reopening it does not reset the delay.
package final class PassphraseAttempts: Sendable {
  private struct State {
    var isInProgress = false
    /// The number of wrong passphrases in a row.
    var failures = 0
    /// Ends when the answer to the latest wrong passphrase is due.
    var delay: Task<Void, Never>?
  }

  /// The maximum delay of the answer to a wrong passphrase.
  static let longestDelay = Duration.seconds(16)

  private let sleep: @Sendable (Duration) async -> Void
  private let state = Mutex(State())

  /// Makes a value for all openings of one store.
  package init(
    sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) { self.sleep = sleep }

  /// Waits until the answer to a wrong passphrase is due, without using any part of the store.
  package func holdBack(_ error: StorageError) async {
    guard error.code == .wrongPassphrase else { return }
    await state.withLock { $0.delay }?.value
  }

  /// Runs an attempt on its own thread.
  ///
  /// Throws `busy` while another attempt runs, and until the answer to a wrong passphrase is due.
  ///
  /// - Parameter passphrase: the one to try; a success without one does not reset the count.
  func make<Result: Sendable>(
    with passphrase: Secret?,
    _ attempt: @escaping @Sendable () throws(StorageError) -> Result
  ) async throws(StorageError) -> Result {
    try state.withLock { state throws(StorageError) in
      guard !state.isInProgress else {
        throw StorageError(
          .busy, "another passphrase is being tried, or was wrong a moment ago",
          hint: "wait some seconds, and try again")
      }
      state.isInProgress = true
    }
    do throws(StorageError) {
      let result = try await DispatchQueue(label: "kist.attempt").run(attempt)
      state.withLock { state in
        state.isInProgress = false
        if passphrase != nil { state.failures = 0 }
      }
      return result
    } catch {
      if error.code == .wrongPassphrase { beginDelay() } else { end() }
      throw error
    }
  }

  private func end() { state.withLock { $0.isInProgress = false } }

  /// Starts the delay: one second at first, doubled each time.
  private func beginDelay() {
    state.withLock { state in
      state.failures += 1
      let delay = min(.seconds(1 << min(state.failures - 1, 10)), Self.longestDelay)
      state.delay = Task {
        await sleep(delay)
        end()
      }
    }
  }
}
