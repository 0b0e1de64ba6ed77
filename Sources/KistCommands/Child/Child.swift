internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistTerminal

/// A command could not be started; the exit statuses are those of env(1).
struct CommandNotStarted: Error {
  let failure: CInt

  var exitStatus: CInt { failure == ENOENT ? 127 : 126 }

  /// What a person is told.
  var complaint: StorageError {
    StorageError(
      .unavailable, "the command cannot be started: \(systemText(of: failure))", hint: hint)
  }

  private var hint: String? {
    switch failure {
    case ENOENT: "see how its name is spelt, and whether it is in a directory of PATH"
    case E2BIG: "a variable holds 128 KiB at most; use --file for more"
    default: nil
    }
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

/// Ends that signals are kept, and ends this process with one that came meanwhile and asks for that.
func giveBackSignals() {
  let number = kist_give_back_signals()
  if number > 0 { carryOut(number) }
}

/// Starts a command, found in PATH.
///
/// - Parameters:
///   - output: the descriptor of its standard output, if it is not ours.
///   - silencing: whether what it says on standard error is not shown.
func startChild(
  _ command: [String], _ environment: ChildEnvironment, output: CInt? = nil,
  silencing: Bool = false
) throws(CommandNotStarted) -> pid_t {
  var pid: pid_t = 0
  var actions = unsafe posix_spawn_file_actions_t()
  unsafe posix_spawn_file_actions_init(&actions)
  defer { unsafe posix_spawn_file_actions_destroy(&actions) }
  if let output { unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) }
  if silencing {
    unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
  }
  let failure = unsafe withCStrings(command) { words in
    unsafe environment.withPointers { environment in
      unsafe posix_spawnp(&pid, words[0]!, &actions, nil, words, environment)
    }
  }
  guard failure == 0 else { throw CommandNotStarted(failure: failure) }
  return pid
}

/// Gives a command the signals that were kept and that come until it ends; gives its exit status, or
/// 128 and the number of the signal that ended it, or `Run.failure` where nothing can be known.
func endOfChild(_ pid: pid_t) -> CInt {
  let status = kist_wait_for_command(pid)
  return status < 0 ? Run.failure : status
}
