internal import Glibc
internal import KistCore
internal import KistSystem

/// The service manager that started kistd and receives its state (sd_notify(3)).
struct ServiceManager: Sendable {
  enum Notice: Sendable, Equatable {
    case ready, stopping, watchdog
    /// The state of the service, as text for the user.
    case status(String)
    /// A reload has begun, at a time of CLOCK_MONOTONIC; it ends with `ready`.
    case reloading(microseconds: UInt64)
  }

  /// How often the manager expects `watchdog`; `nil` if it does not.
  var watchdogInterval: Duration?
  /// Sends a notification; a lost one is not sent again.
  var notify: @Sendable (Notice) -> Void
}

extension ServiceManager {
  static let none = ServiceManager(notify: { _ in })

  /// Connects to the manager at `$NOTIFY_SOCKET`.
  init(environment: (String) -> String?, pid: pid_t = getpid()) {
    guard let address = environment("NOTIFY_SOCKET").flatMap(NotifySocketAddress.init) else {
      self = .none
      return
    }
    self.init(
      watchdogInterval: Self.watchdogInterval(environment, pid),
      notify: { notice in address.send(notice.text, mayBeLost: notice == .watchdog) })
  }

  /// Returns the watchdog interval of sd_watchdog_enabled(3).
  private static func watchdogInterval(
    _ environment: (String) -> String?, _ pid: pid_t
  ) -> Duration? {
    if let owner = environment("WATCHDOG_PID"), owner != "\(pid)" { return nil }
    let interval = environment("WATCHDOG_USEC").flatMap(Int64.init)
    return interval.flatMap { $0 > 0 ? .microseconds($0) : nil }
  }
}

extension ServiceManager.Notice {
  /// The lines of sd_notify(3).
  var text: String {
    switch self {
    case .ready: "READY=1"
    case .status(let text): "STATUS=" + visible(text)
    case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
    case .stopping: "STOPPING=1"
    case .watchdog: "WATCHDOG=1"
    }
  }

  static func reloadingNow() -> Self {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return .reloading(microseconds: UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000)
  }
}

/// The notification socket (sd_notify(3), unix(7)): a path, or `@` and an abstract name.
struct NotifySocketAddress: Sendable {
  private let bytes: [UInt8]

  /// Parses an address; `nil` if it is neither form, or too long.
  init?(_ text: String) {
    var bytes = Array(text.utf8)
    guard
      text.hasPrefix("/") || text.hasPrefix("@"), bytes.count > 1,
      bytes.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
    else { return nil }
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
    self.bytes = bytes
  }

  /// Sends a datagram; drops it if it may be lost and the manager has no space for it now.
  func send(_ text: String, mayBeLost: Bool) {
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let text = Array(text.utf8)
    _ = unsafe withAddress(bytes) { address, size in
      unsafe sendto(
        descriptor, text, text.count, CInt(MSG_NOSIGNAL) | (mayBeLost ? CInt(MSG_DONTWAIT) : 0),
        address, size)
    }
  }
}

/// Returns whether a descriptor leads to the journal (systemd.exec(5), `$JOURNAL_STREAM`).
func isJournal(_ descriptor: CInt, environment: (String) -> String?) -> Bool {
  guard let status = fileStatus(of: descriptor) else { return false }
  return environment("JOURNAL_STREAM") == "\(status.st_dev):\(status.st_ino)"
}
