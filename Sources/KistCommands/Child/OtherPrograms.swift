internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem

/// Replaces this process by another program, found in PATH; returns the error if that fails.
func become(_ words: [String]) -> StorageError {
  let command = [absolutePath(of: words[0]) ?? "/nonexistent/\(words[0])"] + words.dropFirst()
  let failure = replaceProcess(by: command, .unchanged).failure
  return StorageError(
    .unavailable, "\(words[0]) could not be run: \(systemText(of: failure))",
    hint: "install \(words[0]), or see whether it is on PATH")
}

func absolutePath(of program: String) -> String? {
  path(of: program, in: environmentVariable("PATH")) { unsafe access($0, X_OK) == 0 }
}

/// Returns the path of a program found in PATH; a name with a slash is itself a path.
func path(
  of program: String, in directories: String?, isProgram: (String) -> Bool
) -> String? {
  if program.contains("/") { return isProgram(program) ? program : nil }
  return programDirectories(directories).map { "\($0)/\(program)" }.first(where: isProgram)
}

/// Returns the directories in a value of PATH.
///
/// Skips relative entries: they may contain another user's program, as in a download directory.
func programDirectories(_ path: String?) -> [String] {
  (path ?? "/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
}

struct Printed {
  var output: Secret
  /// The status of exit(3), or 128 plus the number of the signal that ended it, as in a shell.
  var status: CInt
}

/// Returns the lines that a program, found in PATH, prints; none if it cannot run.
///
/// Its exit status is ignored, and its standard error is discarded.
func linesPrinted(by words: [String]) -> [String] {
  guard let output = try? output(of: words, upTo: 1 << 20, silencing: true).output else {
    return []
  }
  return output.withBytes(String.init(repairing:)).split(separator: "\n").map(String.init)
}

/// Returns the output of a program, found in PATH, whatever its exit status.
func output(
  of words: [String], upTo limit: Int, silencing: Bool = false
) throws(StorageError) -> Printed {
  guard let program = absolutePath(of: words[0]) else {
    throw StorageError(
      .unavailable, "\(words[0]) is not there", hint: "install \(words[0])", outcome: .unchanged)
  }
  var ends: [CInt] = [-1, -1]
  guard unsafe pipe(&ends) == 0 else {
    throw StorageError(.unavailable, "no pipe could be opened: \(systemText(of: errno))")
  }
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  let pid: pid_t
  do throws(CommandNotStarted) {
    defer { close(ends[1]) }
    pid = try startChild(
      [program] + words.dropFirst(), .unchanged, output: ends[1], silencing: silencing)
  } catch {
    close(ends[0])
    throw error.complaint
  }
  let output: Result<Secret, StorageError>
  do throws(StorageError) {
    output = .success(
      try allPieces(upTo: limit, "the output of \(words[0])") {
        () throws(StorageError) in try nextPiece(of: ends[0], "the output of \(words[0])")
      })
  } catch { output = .failure(error) }
  // Closes the reading end, so that a program with more output ends instead of waiting.
  close(ends[0])
  var status: CInt = 0
  while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
  let signal = status & 0x7f
  return Printed(output: try output.get(), status: signal == 0 ? status >> 8 & 0xff : 128 + signal)
}
