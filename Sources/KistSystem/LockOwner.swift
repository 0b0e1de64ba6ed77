/// The kistd that holds a lock.
package struct LockOwner: Sendable, Equatable {
  /// The process id of kistd; `nil` if the lock file has none.
  package var pid: String?
  /// Whether it is the systemd user service.
  ///
  /// If the user ended the service with `kill`, systemd would start it again. So the user must stop
  /// its units instead.
  package var isService: Bool
  /// The command of kistd that works on the store, such as `rekey`; `nil` for a kistd that serves it.
  package var command: String?

  /// The command that stops the systemd user service, and the sockets that would start it again.
  package static let stopService =
    "systemctl --user stop kistd.socket kistd-credentials.socket kistd.service"

  package init(pid: String?, isService: Bool, command: String? = nil) {
    self.pid = pid
    self.isService = isService
    self.command = command
  }

  /// Reads the process id at the beginning of a lock file, such as `credentials.db.lock`.
  package init(of descriptor: CInt) {
    let digits = bytes(of: descriptor, 0..<16).prefix { (0x30...0x39).contains($0) }
    pid = digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    isService = Self.isService(
      cgroup: pid.flatMap { text(ofProcFile: "/proc/\($0)/cgroup") } ?? "")
    command = pid.flatMap { text(ofProcFile: "/proc/\($0)/cmdline") }.flatMap(Self.command(in:))
  }

  /// Returns the command in the text of /proc/PID/cmdline, which is the word after the program; `nil`
  /// if the program is not kistd, for example because the process is in another container.
  package static func command(in text: String) -> String? {
    let words = text.split(separator: "\0", omittingEmptySubsequences: false)
    guard words.count > 1, words[0].split(separator: "/").last == "kistd",
      words[1].first?.isLetter == true
    else { return nil }
    return String(words[1])
  }

  /// Returns whether the text of /proc/PID/cgroup is that of the user service.
  package static func isService(cgroup text: String) -> Bool {
    let unit = ProcessUnit(cgroup: text)
    return unit?.userManager != nil && unit?.name == "kistd.service"
  }
}

extension LockOwner: CustomStringConvertible {
  package var description: String {
    (command.map { "`kistd \($0)`, " } ?? "") + "pid " + (pid ?? "unknown")
  }

  /// Advice on how to stop this kistd, with a command.
  package var stop: String {
    if command != nil { return "try again when it has ended" }
    if isService { return "stop it: `\(Self.stopService)`" }
    return pid.map { "stop it: `kill \($0)`" } ?? "stop it"
  }
}
