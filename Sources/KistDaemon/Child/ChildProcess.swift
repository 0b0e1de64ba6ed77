internal import CLinux
internal import Glibc
internal import KistCore

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
    kist_forward_signals_to(pid)
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
      group.addTask { await ended() }
      var status: CInt?
      while status == nil, let next = try await group.next() { status = next }
      group.cancelAll()
      try await group.waitForAll()
      return status ?? 0
    }
  }

  private func ended() async -> CInt {
    await withCheckedContinuation { continuation in
      startThread {
        var information = unsafe siginfo_t()
        // Not reaped yet, so that no signal is forwarded to another process with its pid.
        while unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR
        {
        }
        kist_forward_signals_to(0)
        var status: CInt = 0
        while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        continuation.resume(returning: signal == 0 ? (status >> 8) & 0xFF : 128 + signal)
      }
    }
  }
}

/// A command that could not be started; the exit statuses are those of a shell.
struct CommandNotStarted: Error, CustomStringConvertible {
  var command: String
  var code: CInt

  var exitStatus: CInt { code == ENOENT ? 127 : 126 }
  var description: String { "cannot start \(command): \(systemText(of: code))" }
}
