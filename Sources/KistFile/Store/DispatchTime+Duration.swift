internal import Dispatch

extension DispatchTime {
  /// Returns the time after a duration from now.
  static func after(_ time: Duration) -> DispatchTime {
    let (seconds, attoseconds) = time.components
    return .now() + Double(seconds) + Double(attoseconds) * 1e-18
  }
}
