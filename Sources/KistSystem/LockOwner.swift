/// The kistd that holds a lock.
package struct LockOwner: Sendable, Equatable {
  /// The process id of kistd; `nil` if the lock file has none.
  package var pid: String?
  /// Whether it is the systemd user service.
  ///
  /// If the user ended the service with `kill`, systemd would start it again. So the user must stop
  /// its units instead.
  package var isService: Bool

  /// The command that stops the systemd user service, and the sockets that would start it again.
  package static let stopService =
    "systemctl --user stop kistd.socket kistd-credentials.socket kistd.service"

  package init(pid: String?, isService: Bool) {
    self.pid = pid
    self.isService = isService
  }

  /// Reads the process id at the beginning of a lock file, such as `credentials.db.lock`.
  package init(of descriptor: CInt) {
    let digits = bytes(of: descriptor, 0..<16).prefix { (0x30...0x39).contains($0) }
    pid = digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    isService = Self.isService(
      cgroup: pid.flatMap { text(ofProcFile: "/proc/\($0)/cgroup") } ?? "")
  }

  /// Returns whether the text of /proc/PID/cgroup is that of the user service.
  package static func isService(cgroup text: String) -> Bool {
    let unit = ProcessUnit(cgroup: text)
    return unit?.userManager != nil && unit?.name == "kistd.service"
  }
}

extension LockOwner: CustomStringConvertible {
  package var description: String { "pid " + (pid ?? "unknown") }

  /// Advice on how to stop this kistd, with a command.
  package var stop: String {
    if isService { return "stop it: `\(Self.stopService)`" }
    return pid.map { "stop it: `kill \($0)`" } ?? "stop it"
  }
}
