/// A signal that is waited for once, on the loop's thread; `nil` when the time was over before.
final class PendingSignal {
  private var arguments: Variant??
  private var waiting: CheckedContinuation<Void, Never>?

  /// The first to arrive counts.
  func arrive(_ arguments: Variant?) {
    guard self.arguments == nil else { return }
    self.arguments = .some(arguments)
    waiting?.resume()
    waiting = nil
  }

  func value() async -> Variant? {
    if arguments == nil {
      // As with a `PendingReply`, it may arrive before the continuation is made.
      await withCheckedContinuation { continuation in
        if arguments == nil { waiting = continuation } else { continuation.resume() }
      }
    }
    return arguments!
  }
}
