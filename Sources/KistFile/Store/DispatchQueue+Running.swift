internal import Dispatch

extension DispatchQueue {
  /// Runs a blocking function on this queue to its end, so that the caller's thread stays free.
  func run<Output: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Output
  ) async throws(Failure) -> Output {
    let result = await withCheckedContinuation { continuation in
      async { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }
}

extension DispatchTime {
  /// Returns the time after a duration from now.
  static func after(_ time: Duration) -> DispatchTime {
    let (seconds, attoseconds) = time.components
    return .now() + Double(seconds) + Double(attoseconds) * 1e-18
  }
}
