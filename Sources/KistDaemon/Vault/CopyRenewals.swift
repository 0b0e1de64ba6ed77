internal import KistCore
internal import KistReplica
internal import Synchronization

/// The failed attempts to make a copy with the new key of a vault, which successive openings share.
///
/// kistd tries again after a time that doubles with each failure, up to five minutes. It logs a reason
/// when it is new, and then at the 2nd, 4th, 8th … failure with the same reason.
final class CopyRenewals: Sendable {
  private struct State {
    var failures = 0
    /// The last reason; its text may have the name of a temporary file.
    var last: StorageError.Code?
    /// The failures with the last reason.
    var repeats = 0
  }

  private let state = Mutex(State())
  private let prepared = Mutex<SharedVault.Renewal?>(nil)

  /// Keeps what a new copy needs for the next opening.
  func prepare(_ renewal: SharedVault.Renewal?) { prepared.withLock { $0 = renewal } }

  /// Returns what was kept, once.
  func takePrepared() -> SharedVault.Renewal? {
    prepared.withLock { prepared in
      defer { prepared = nil }
      return prepared
    }
  }

  /// How long to wait before the next attempt.
  var delay: Duration {
    let failures = state.withLock(\.failures)
    return failures == 0 ? .zero : .seconds(min(300, 1 << min(failures - 1, 9)))
  }

  /// Notes a failure; returns whether to log it.
  func fail(_ error: StorageError) -> Bool {
    state.withLock { state in
      state.failures += 1
      state.repeats = state.last == error.code ? state.repeats + 1 : 1
      state.last = error.code
      // A power of two.
      return state.repeats & (state.repeats - 1) == 0
    }
  }

  func succeed() { state.withLock { $0 = State() } }
}
