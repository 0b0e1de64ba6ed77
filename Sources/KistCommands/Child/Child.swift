internal import CLinux
internal import Glibc
internal import KistCore
internal import KistInterop
internal import KistSystem
internal import KistTerminal

/// The error of a command that could not be started; its exit statuses are those of env(1).
struct CommandNotStarted: Error {
  let failure: CInt

  var exitStatus: CInt { failure == ENOENT ? 127 : 126 }

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

/// Replaces this process by a command, found in PATH; returns only if that fails.
func replaceProcess(by command: [String], _ environment: ChildEnvironment) -> CommandNotStarted {
  unsafe withCStrings(command) { words in
    unsafe environment.withPointers { environment in
      _ = unsafe kist_execvpe(words[0]!, words, environment)
      return CommandNotStarted(failure: errno)
    }
  }
}

/// Keeps the signals that would end this process, for the command that will run in it.
func keepSignals() throws(CommandNotStarted) {
  guard kist_take_signals(1) >= 0 else { throw CommandNotStarted(failure: errno) }
  kist_hand_over_signals()
}

/// Stops keeping signals.
///
/// Ends this process if one came meanwhile that asks for it.
func giveBackSignals() {
  let number = kist_give_back_signals()
  if number > 0 { carryOut(number) }
}

/// Starts a command, found in PATH.
///
/// - Parameters:
///   - output: The descriptor of its standard output, if it differs from this process's.
///   - silencing: Whether its standard error is discarded.
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

/// Forwards the kept signals, and those that come until the command ends; returns its exit status.
///
/// Returns 128 plus the signal's number if a signal ended it, or `Run.failure` if it is unknown.
func endOfChild(_ pid: pid_t) -> CInt {
  let status = kist_wait_for_command(pid)
  return status < 0 ? Run.failure : status
}

/// The environment of this process with some variables added or replaced, for a command.
///
/// Their values are wiped when it is released.
struct ChildEnvironment {
  static let unchanged = ChildEnvironment(entries: [])

  private let entries: [Secret]

  private init(entries: [Secret]) { self.entries = entries }

  /// Refuses a value that contains a NUL, because the command would see it only up to there.
  init(setting settings: [Setting]) throws(StorageError) {
    var entries: [Secret] = []
    for setting in settings {
      guard setting.value.withBytes({ bytes in bytes.indices.allSatisfy { bytes[$0] != 0 } }) else {
        throw StorageError(
          .badRequest, "a secret has a NUL in it, which no variable can have",
          hint: "give it to the command as a file, with --file", outcome: .unchanged)
      }
      var entry = WipedBytes(capacity: setting.name.utf8.count + setting.value.count + 2)
      entry.append(utf8: setting.name)
      entry.append(UInt8(ascii: "="))
      setting.value.withBytes { entry.append($0) }
      entry.append(0)
      entries.append(Secret(entry))
    }
    self.entries = entries
  }

  /// Lends it as exec(3) expects it.
  func withPointers<Result>(
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    defer { extendLifetime(entries) }
    let added = unsafe entries.map { entry in
      unsafe entry.withBytes { bytes in
        unsafe bytes.withUnsafeBufferPointer { bytes in
          unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress!)
            .assumingMemoryBound(to: CChar.self)
        }
      }
    }
    return unsafe withEnvironment(adding: added, body)
  }
}
