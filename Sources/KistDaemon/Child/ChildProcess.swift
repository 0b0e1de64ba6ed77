internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem

/// The command that kistd serves for.
struct ChildProcess: Sendable {
  private let name: String
  private let pid: pid_t
  private let starter: CInt

  /// Starts a process that waits to become the command, before kistd confines itself.
  ///
  /// The command is found in PATH. It gets kistd's environment with the socket in KIST_SOCKET, a
  /// clean signal mask, and the limits that kistd was started with.
  init(waitingFor command: [String], socket: String, previous: Hardening.Previous) throws {
    name = command[0]
    let forked = Hardening.lifted(previous) {
      forkCommand(command, setting: "KIST_SOCKET", to: socket)
    }
    guard let forked else { throw CommandNotStarted(command: name, code: errno) }
    (pid, starter) = forked
  }

  /// Starts the command once, which gets all signals from then on; `false` if a signal came before.
  func start() throws -> Bool {
    defer { close(starter) }
    guard Signals.handOver() == nil else { return false }
    let failure = kist_start_command(starter)
    guard failure == 0 else { throw CommandNotStarted(command: name, code: failure) }
    return true
  }

  /// Serves until the command ends; returns its exit status, or 128 plus the signal that ended it.
  ///
  /// Other kistd may use this one for their commands, so it serves until these end, too.
  func status(
    whileRunning server: @escaping @Sendable () async throws -> Void, claim: Claim?
  ) async throws -> CInt {
    try await withThrowingTaskGroup(of: CInt?.self) { group in
      group.addTask {
        try await server()
        return nil
      }
      group.addTask {
        let status = try await end()
        // From here on, signals are for kistd.
        kist_take_back_signals()
        try await claim?.untilUnused()
        return status
      }
      var status: CInt?
      while status == nil, let next = try await group.next() { status = next }
      group.cancelAll()
      try await group.waitForAll()
      return status ?? 0
    }
  }

  /// Returns the exit status of the command when it has ended.
  func end() async throws(StorageError) -> CInt {
    let status = await withCheckedContinuation { continuation in
      startThread { continuation.resume(returning: kist_wait_for_command(pid)) }
    }
    guard status >= 0 else { throw .internal("cannot get the exit status of the command") }
    return status
  }
}

/// The error for a command that could not be started; the exit statuses are those of a shell.
struct CommandNotStarted: Error, CustomStringConvertible {
  var command: String
  var code: CInt

  var exitStatus: CInt { code == ENOENT ? 127 : 126 }
  var description: String { "cannot start \(command): \(systemText(of: code))" }
  var hint: String {
    "check its name or path, and that it is executable; a name must be in a directory of PATH"
  }
}

/// Starts a process that waits to become a command; `nil` with `errno` set if that fails.
func forkCommand(
  _ command: [String], setting variable: String, to value: String
) -> (pid: pid_t, starter: CInt)? {
  var starter: CInt = -1
  let pid = unsafe withCStrings(command) { words in
    unsafe withCStrings(["\(variable)=\(value)"]) { added in
      unsafe withEnvironment(adding: [added[0]!]) { environment in
        unsafe kist_fork_command(words, environment, &starter)
      }
    }
  }
  return pid > 0 ? (pid, starter) : nil
}
