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

/// Returns the path of a program found in PATH; a program with a slash in its name is itself a
/// path.
func path(
  of program: String, in directories: String?, isProgram: (String) -> Bool
) -> String? {
  if program.contains("/") { return isProgram(program) ? program : nil }
  return programDirectories(directories).map { "\($0)/\(program)" }.first(where: isProgram)
}

/// Returns the directories in a value of PATH.
///
/// Skips relative entries: they may contain another user's program, for example in a download
/// directory.
func programDirectories(_ path: String?) -> [String] {
  (path ?? "/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
}
