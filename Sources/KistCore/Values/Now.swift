internal import Glibc

extension Timestamp {
  /// Returns the time of the system's clock, the value of `now` parameters outside tests.
  public static func now() -> Timestamp {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(clamping: Int64(time.tv_sec))
  }
}
