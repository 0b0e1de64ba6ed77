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
    let hint: String? =
      switch failure {
      case ENOENT: "check the spelling of its name or path; a name must be in a directory of PATH"
      case E2BIG: "a variable holds 128 KiB at most; use --file for more"
      default: nil
      }
    return StorageError(
      .unavailable, "the command cannot be started: \(systemText(of: failure))", hint: hint)
  }
}

extension Terminal {
  /// Reports that a command could not be started, and ends this process.
  func end(_ failure: CommandNotStarted, asJSON: Bool) -> Never {
    report(failure.complaint, asJSON: asJSON)
    Glibc.exit(failure.exitStatus)
  }
}

/// Replaces this process by a command that it finds in PATH; returns only if that fails.
func replaceProcess(by command: [String], _ environment: ChildEnvironment) -> CommandNotStarted {
  unsafe withCStrings(command) { words in
    unsafe environment.withPointers { environment in
      _ = unsafe kist_execvpe(words[0]!, words, environment)
      return CommandNotStarted(failure: errno)
    }
  }
}

/// Keeps the signals that would end this process, to forward them to the command later.
func keepSignals() throws(CommandNotStarted) {
  guard kist_take_signals(1) >= 0 else { throw CommandNotStarted(failure: errno) }
  kist_hand_over_signals()
}

/// Stops keeping signals.
///
/// If a kept signal would end this process, ends it now.
func giveBackSignals() {
  let number = kist_give_back_signals()
  if number > 0 { raiseUnblocked(number) }
}

/// Starts a command, found in PATH.
///
/// The command has the standard streams of this process, except those for which a descriptor is
/// given. If `silencing` is true, its standard error is discarded.
func startChild(
  _ command: [String], _ environment: ChildEnvironment, input: CInt? = nil, output: CInt? = nil,
  error: CInt? = nil, silencing: Bool = false
) throws(CommandNotStarted) -> pid_t {
  var streams: [CInt: ProgramStream] = silencing ? [STDERR_FILENO: .null] : [:]
  for (descriptor, stream) in [
    (input, STDIN_FILENO), (output, STDOUT_FILENO), (error, STDERR_FILENO),
  ] {
    if let descriptor { streams[stream] = .descriptor(descriptor) }
  }
  let (pid, failure) = unsafe withCStrings(command) { words in
    unsafe environment.withPointers { environment in
      unsafe spawn(words, environment, streams: streams, searches: true)
    }
  }
  guard failure == 0 else { throw CommandNotStarted(failure: failure) }
  return pid
}

/// Forwards signals to a command until it ends; returns the exit status of the command.
///
/// If a signal ended the command, the status is 128 plus the number of the signal. If the status is
/// unknown, it is `Run.failure`.
func endOfChild(_ pid: pid_t) -> CInt {
  let status = kist_wait_for_command(pid)
  return status < 0 ? Run.failure : status
}

/// The environment of this process with other variables, which are wiped when it is released.
struct ChildEnvironment {
  static let unchanged = ChildEnvironment(entries: [])

  private let entries: [Secret]

  private init(entries: [Secret]) { self.entries = entries }

  /// Throws if a value contains a NUL, because the command would get only the part before it.
  init(setting settings: [Setting]) throws(StorageError) {
    var entries: [Secret] = []
    for setting in settings {
      guard setting.value.withBytes({ bytes in bytes.indices.allSatisfy { bytes[$0] != 0 } }) else {
        throw .refused(
          "the secret for \(setting.name) contains a NUL byte, which a variable cannot have",
          hint: "pass it to the command as a file, with --file")
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

  /// Passes the environment to `body`, in the form that exec(3) expects.
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

/// Runs another program, found in PATH, with the streams of this process; returns the error if it
/// fails.
func runProgram(_ words: [String]) -> StorageError? {
  do throws(StorageError) {
    let program = try installedProgram(words[0])
    let pid: pid_t
    do throws(CommandNotStarted) {
      pid = try startChild([program] + words.dropFirst(), .unchanged)
    } catch { throw error.complaint }
    let status = exitStatus(of: pid)
    guard status != 0 else { return nil }
    return StorageError(
      .unavailable, "\(words[0]) did not change its configuration: it ended with status \(status)",
      hint: "check that you may write its configuration file and the directory of the file")
  } catch { return error }
}

/// Returns the lines of a program's standard output, with any exit status; none if the program
/// cannot run.
func linesPrinted(by words: [String]) -> [String] {
  let output = try? output(of: words, upTo: 1 << 20, silencing: true).output
  return output?.withBytes(String.init(repairing:)).split(separator: "\n").map(String.init) ?? []
}

/// Returns the output of a program, found in PATH, and its exit status.
///
/// If a signal ended the program, the status is 128 plus the number of the signal, as in a shell.
func output(
  of words: [String], upTo limit: Int, silencing: Bool = false
) throws(StorageError) -> (output: Secret, status: CInt) {
  let program = try installedProgram(words[0])
  let ends = try newPipe()
  let pid: pid_t
  do throws(CommandNotStarted) {
    defer { close(ends.writing) }
    pid = try startChild(
      [program] + words.dropFirst(), .unchanged, output: ends.writing, silencing: silencing)
  } catch {
    close(ends.reading)
    throw error.complaint
  }
  let output: Secret
  var status: CInt = 0
  do {
    defer { status = exitStatus(of: pid) }
    // Closes the reading end, so that a program with more output ends instead of waiting.
    output = try contents(of: ends.reading, upTo: limit, "the output of \(words[0])")
  }
  return (output, status)
}

/// Returns the path of a program, found in PATH.
func installedProgram(_ name: String) throws(StorageError) -> String {
  guard let program = runnablePath(of: name) else {
    throw .refused("there is no \(name) on PATH", as: .unavailable, hint: "install \(name)")
  }
  return program
}

/// Opens a pipe that no command inherits.
func newPipe() throws(StorageError) -> (reading: CInt, writing: CInt) {
  var ends: [CInt] = [-1, -1]
  guard unsafe pipe(&ends) == 0 else {
    throw StorageError(.unavailable, "cannot open a pipe: \(systemText(of: errno))")
  }
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  return (ends[0], ends[1])
}
