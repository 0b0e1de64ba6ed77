internal import Glibc

extension Timestamp {
  /// The present, by the system's clock: the live value of every `now` parameter.
  public static func now() -> Timestamp {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(clamping: Int64(time.tv_sec))
  }
}
