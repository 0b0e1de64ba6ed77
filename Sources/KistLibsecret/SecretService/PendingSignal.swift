/// A signal that is waited for once, on the loop's thread, or the reason why it will not come.
final class PendingSignal {
  private var result: Result<Variant, BusError>?
  private var waiting: CheckedContinuation<Void, Never>?

  /// The first to arrive counts.
  func arrive(_ result: Result<Variant, BusError>) {
    guard self.result == nil else { return }
    self.result = result
    waiting?.resume()
    waiting = nil
  }

  /// The arguments of the signal.
  func value() async throws(BusError) -> Variant {
    if result == nil {
      // As with a `PendingReply`, it may arrive before the continuation is made.
      await withCheckedContinuation { continuation in
        if result == nil { waiting = continuation } else { continuation.resume() }
      }
    }
    return try result!.get()
  }
}
