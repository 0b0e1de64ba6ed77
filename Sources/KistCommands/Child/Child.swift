internal import CLinux
internal import Glibc
internal import KistClient
internal import KistCore

/// A command could not be started; the exit statuses are those of env(1).
struct CommandNotStarted: Error {
  let failure: CInt

  var exitStatus: CInt { failure == ENOENT ? 127 : 126 }

  /// What a person is told.
  var complaint: StorageError {
    StorageError(
      .unavailable, "the command cannot be started: \(describe(failure))",
      hint: failure == E2BIG ? "a variable holds 128 KiB at most; use --file for more" : nil)
  }
}

/// Puts a command, found in PATH, in the place of this process; returns only where that fails.
func replaceProcess(by command: [String], _ environment: ChildEnvironment) -> CommandNotStarted {
  unsafe withCStrings(command) { words in
    unsafe environment.withPointers { environment in
      _ = unsafe kist_execvpe(words[0]!, words, environment)
      return CommandNotStarted(failure: errno)
    }
  }
}

/// Keeps the signals that would end this process for the command that is to run in it.
func keepSignals() throws(CommandNotStarted) {
  guard kist_take_signals(1) >= 0 else { throw CommandNotStarted(failure: errno) }
  kist_hand_over_signals()
}

/// Starts a command, found in PATH, and gives it the signals that were kept and that come until it
/// ends.
func startChild(_ command: [String], _ environment: ChildEnvironment) throws(CommandNotStarted)
  -> pid_t
{
  // A parent may have had it ignored, and then nobody is told how a child ended: wait(2).
  signal(SIGCHLD, SIG_DFL)
  var pid: pid_t = 0
  let failure = unsafe withCStrings(command) { words in
    unsafe environment.withPointers { environment in
      unsafe posix_spawnp(&pid, words[0]!, nil, nil, words, environment)
    }
  }
  guard failure == 0 else { throw CommandNotStarted(failure: failure) }
  kist_forward_signals_to(pid)
  return pid
}

/// Waits for a command's end; gives its exit status, or 128 and the number of the signal that ended
/// it, or `Run.failure` where nothing can be known.
func endOfChild(_ pid: pid_t) -> CInt {
  var information = unsafe siginfo_t()
  // Not reaped yet, so that no signal is forwarded to another process with its pid.
  while unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
  kist_forward_signals_to(0)
  var status: CInt = 0
  while unsafe waitpid(pid, &status, 0) < 0 {
    guard errno == EINTR else { return Run.failure }
  }
  let signal = status & 0x7F
  return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
}

private func withCStrings<Result>(
  _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
  defer { unsafe pointers.forEach { unsafe free($0) } }
  return unsafe body(&pointers)
}
