internal import Glibc

/// Whoever started kistd and wants to be told how it stands (sd_notify(3)).
struct ServiceManager: Sendable {
  /// Something to tell it.
  enum Notice: Sendable, Equatable {
    /// Requests are answered.
    case ready
    /// How the service stands, for people.
    case status(String)
    /// Reloading has begun, at a time of CLOCK_MONOTONIC; it ends with `ready`.
    case reloading(microseconds: UInt64)
    /// The end has begun.
    case stopping
    /// The service is alive.
    case watchdog
  }

  /// Whether there is one.
  var isThere: Bool
  /// How often it wants to hear that the service is alive; `nil` where it does not ask.
  var watchdogInterval: Duration?
  /// Tells it; what it does not hear is not repeated.
  var tell: @Sendable (Notice) -> Void
}

extension ServiceManager {
  /// Nobody.
  static let none = ServiceManager(isThere: false, watchdogInterval: nil, tell: { _ in })

  /// The one at the other end of `$NOTIFY_SOCKET`.
  init(environment: (String) -> String?, pid: pid_t = getpid()) {
    guard let address = environment("NOTIFY_SOCKET").flatMap(NotifySocketAddress.init) else {
      self = .none
      return
    }
    self.init(
      isThere: true, watchdogInterval: Self.watchdogInterval(environment, pid),
      tell: { notice in address.send(notice.text, mayBeLost: notice == .watchdog) })
  }

  /// sd_watchdog_enabled(3).
  private static func watchdogInterval(
    _ environment: (String) -> String?, _ pid: pid_t
  ) -> Duration? {
    if let owner = environment("WATCHDOG_PID"), owner != "\(pid)" { return nil }
    return environment("WATCHDOG_USEC").flatMap(Int64.init).flatMap {
      $0 > 0 ? .microseconds($0) : nil
    }
  }
}

extension ServiceManager.Notice {
  /// Lines of sd_notify(3).
  var text: String {
    switch self {
    case .ready: "READY=1"
    case .status(let text): "STATUS=" + onOneLine(text)
    case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
    case .stopping: "STOPPING=1"
    case .watchdog: "WATCHDOG=1"
    }
  }

  /// Reloading, which begins now.
  static func reloadingNow() -> Self {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return .reloading(
      microseconds: UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000)
  }
}
