internal import Glibc
internal import KistCore
internal import KistSystem

/// Becomes another program, found along PATH; returns why not, where it cannot.
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

/// Where a program is along PATH; one that has a path is there.
func path(
  of program: String, in directories: String?, isProgram: (String) -> Bool
) -> String? {
  if program.contains("/") { return isProgram(program) ? program : nil }
  return programDirectories(directories).map { "\($0)/\(program)" }.first(where: isProgram)
}

/// The directories of a value of PATH.
///
/// The entries that are not absolute are passed over: in them may be a program of somebody else's, as in a
/// directory of downloads.
func programDirectories(_ path: String?) -> [String] {
  (path ?? "/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
}
