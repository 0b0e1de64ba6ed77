internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem

/// The command that kistd serves for.
struct ChildProcess: Sendable {
  private let pid: pid_t

  /// Starts a command, found in PATH, with the environment of kistd and the socket in KIST_SOCKET;
  /// `nil` when a signal came before.
  ///
  /// It gets a clean signal mask and the limits that kistd was started with. From here on, signals
  /// to kistd are for the command.
  static func start(
    _ command: [String], socket: String, previous: Hardening.Previous
  ) throws -> ChildProcess? {
    guard Signals.handOver() == nil else { return nil }
    var pid: pid_t = 0
    let failure = Hardening.lifted(previous) {
      spawn(&pid, command, setting: "KIST_SOCKET", to: socket)
    }
    guard failure == 0 else { throw CommandNotStarted(command: command[0], code: failure) }
    return ChildProcess(pid: pid)
  }

  /// Serves until the command ends; gives its exit status, or 128 and the signal that ended it.
  func status(whileRunning server: @escaping @Sendable () async throws -> Void) async throws -> CInt
  {
    try await withThrowingTaskGroup(of: CInt?.self) { group in
      group.addTask {
        try await server()
        return nil
      }
      group.addTask { try await end() }
      var status: CInt?
      while status == nil, let next = try await group.next() { status = next }
      group.cancelAll()
      try await group.waitForAll()
      return status ?? 0
    }
  }

  private func end() async throws(StorageError) -> CInt {
    let status = await withCheckedContinuation { continuation in
      startThread { continuation.resume(returning: kist_wait_for_command(pid)) }
    }
    guard status >= 0 else { throw .internal("how the command ended cannot be known") }
    return status
  }
}

/// A command that could not be started; the exit statuses are those of a shell.
struct CommandNotStarted: Error, CustomStringConvertible {
  var command: String
  var code: CInt

  var exitStatus: CInt { code == ENOENT ? 127 : 126 }
  var description: String { "cannot start \(command): \(systemText(of: code))" }
  var hint: String { "see whether it is on PATH, and may be run" }
}
