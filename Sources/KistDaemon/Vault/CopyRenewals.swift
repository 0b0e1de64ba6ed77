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
  private struct Openings {
    var last = 0
    var prepared: (by: Int, renewal: SharedVault.Renewal)?
  }

  private let openings = Mutex(Openings())

  /// Begins an opening; returns its number, and what the opening before it has prepared.
  ///
  /// What an earlier opening has prepared is too old: the copy may be newer.
  func begin() -> (number: Int, prepared: SharedVault.Renewal?) {
    openings.withLock { openings in
      let prepared = openings.prepared?.by == openings.last ? openings.prepared?.renewal : nil
      openings = Openings(last: openings.last + 1)
      return (openings.last, prepared)
    }
  }

  /// Keeps what a new copy needs for the opening after this one.
  func prepare(_ renewal: SharedVault.Renewal?, by number: Int) {
    openings.withLock { $0.prepared = renewal.map { (number, $0) } }
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
