internal import NIOCore
internal import Synchronization

/// Lets one log line through per interval, so that a flood of events is no flood of lines.
final class LogGate: Sendable {
  private struct State {
    var opensAt: NIODeadline?
    var heldBack = 0
  }

  private let interval: TimeAmount
  private let state = Mutex(State())

  init(interval: TimeAmount) { self.interval = interval }

  /// How many lines were held back since the last one, if a line may be written now.
  func pass(at now: NIODeadline = .now()) -> Int? {
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
