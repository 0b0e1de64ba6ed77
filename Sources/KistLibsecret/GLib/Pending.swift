internal import CLibsecret

/// A value that arrives once on the loop's thread: the answer to a call, or a signal.
final class Pending<Value> {
  private var result: Result<Value, BusError>?
  private var waiting: CheckedContinuation<Void, Never>?

  /// Sets the result; only the first one counts.
  func arrive(_ result: Result<Value, BusError>) {
    guard self.result == nil else { return }
    self.result = result
    waiting?.resume()
    waiting = nil
  }

  /// Waits for the value.
  func value() async throws(BusError) -> Value {
    if result == nil {
      // A task with an executor preference is enqueued again before the continuation is made. The
      // value may arrive in between.
      await withCheckedContinuation { continuation in
        if result == nil { waiting = continuation } else { continuation.resume() }
      }
    }
    return try result!.get()
  }

  /// Returns the pointer for `completeReply`; `finish` takes the answer out of a result.
  func completion(
    _ finish: @escaping (OpaquePointer?, inout UnsafeMutablePointer<GError>?) -> Value?
  ) -> UnsafeMutableRawPointer {
    let completion = unsafe Completion { result in
      var error: UnsafeMutablePointer<GError>? = nil
      let value = unsafe finish(result, &error)
      unsafe self.arrive(value.map { .success($0) } ?? .failure(BusError(owning: error)))
    }
    return unsafe Unmanaged.passRetained(completion).toOpaque()
  }
}

/// The callback that GLib calls when an answer has arrived.
func completeReply(
  _: UnsafeMutablePointer<GObject>?, result: OpaquePointer?, completion: UnsafeMutableRawPointer?
) {
  unsafe Unmanaged<Completion>.fromOpaque(completion!).takeRetainedValue().body(result)
}

@safe private final class Completion {
  let body: (OpaquePointer?) -> Void
  init(_ body: @escaping (OpaquePointer?) -> Void) { unsafe self.body = body }
}
