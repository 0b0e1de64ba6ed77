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

/// The notification socket (sd_notify(3), unix(7)): a path, or `@` and an abstract name.
struct NotifySocketAddress: Sendable {
  private let bytes: [UInt8]

  /// Parses an address; `nil` if it is neither form, or too long.
  init?(_ text: String) {
    var bytes = Array(text.utf8)
    guard
      [UInt8(ascii: "/"), UInt8(ascii: "@")].contains(bytes.first), bytes.count > 1,
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

/// The listening sockets that a service manager passes to kistd (sd_listen_fds(3)).
struct PassedSockets: Equatable {
  var requests: CInt?
  /// The socket named `credentials`, on which the manager requests credentials for other units.
  var credentials: CInt?

  /// Takes the sockets that were passed to this process, and hides them from other programs.
  ///
  /// Throws `badRequest` if one is not a listening Unix stream socket, or has no use.
  static func take(
    environment: (String) -> String?, pid: pid_t = getpid(), first: CInt = 3
  ) throws(StorageError) -> PassedSockets {
    var sockets = PassedSockets()
    guard environment("LISTEN_PID") == "\(pid)" else { return sockets }
    guard let count = environment("LISTEN_FDS").flatMap(CInt.init), (1...16).contains(count) else {
      throw .badSocket("LISTEN_FDS is not a number from 1 to 16")
    }
    let names = (environment("LISTEN_FDNAMES") ?? "")
      .split(separator: ":", omittingEmptySubsequences: false)
    for (number, descriptor) in (first..<first + count).enumerated() {
      guard isListening(descriptor) else {
        throw .badSocket("descriptor \(descriptor) is not a listening Unix stream socket")
      }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      let name = number < names.count ? names[number] : ""
      let place = name == "credentials" ? \PassedSockets.credentials : \.requests
      guard sockets[keyPath: place] == nil else {
        throw .badSocket("descriptor \(descriptor) is a second socket of the same kind")
      }
      sockets[keyPath: place] = descriptor
    }
    return sockets
  }
}

private func isListening(_ descriptor: CInt) -> Bool {
  option(SO_DOMAIN, of: descriptor) == AF_UNIX
    && option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
    && option(SO_ACCEPTCONN, of: descriptor) == 1
}

private func option(_ option: CInt, of descriptor: CInt) -> CInt? {
  var value: CInt = 0
  var size = socklen_t(MemoryLayout<CInt>.size)
  guard unsafe getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 else { return nil }
  return value
}

extension StorageError {
  fileprivate static func badSocket(_ what: String) -> StorageError {
    StorageError(
      .badRequest, "cannot use the sockets that systemd passed: \(what)",
      hint: "start kistd.service only through kistd.socket and kistd-credentials.socket")
  }
}
