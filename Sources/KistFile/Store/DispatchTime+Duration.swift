internal import Dispatch

extension DispatchTime {
  /// The moment that is so much later.
  static func after(_ time: Duration) -> DispatchTime {
    let (seconds, attoseconds) = time.components
    return .now() + Double(seconds) + Double(attoseconds) * 1e-18
  }
}
