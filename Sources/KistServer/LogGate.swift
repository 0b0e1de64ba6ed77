internal import NIOCore
internal import Synchronization

/// Lets one log line through per interval, to limit the log during a flood of events.
package final class LogGate: Sendable {
  private struct State {
    var opensAt: NIODeadline?
    var heldBack = 0
  }

  private let interval: TimeAmount
  private let state = Mutex(State())

  package init(interval: Duration = .seconds(10)) { self.interval = TimeAmount(interval) }

  /// Returns the number of lines held back since the last one, or `nil` if none may be written now.
  package func pass() -> Int? { pass(at: .now()) }

  func pass(at now: NIODeadline) -> Int? {
    state.withLock { state in
      if let opensAt = state.opensAt, now < opensAt {
        state.heldBack += 1
        return nil
      }
      defer { state = State(opensAt: now + interval) }
      return state.heldBack
    }
  }
}
