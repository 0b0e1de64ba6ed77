internal import Glibc

/// Returns the path of a program that this process may run: the first one of this name in PATH, or
/// the name itself if it has a slash.
package func runnablePath(of program: String) -> String? {
  path(of: program, in: environmentVariable("PATH")) { unsafe access($0, X_OK) == 0 }
}

/// Returns the path of a program: the first one of this name in PATH, or the name itself if it has
/// a slash.
package func path(
  of program: String, in directories: String?, isProgram: (String) -> Bool
) -> String? {
  if program.contains("/") { return isProgram(program) ? program : nil }
  return programDirectories(directories).map { "\($0)/\(program)" }.first(where: isProgram)
}

/// Returns the directories in a value of PATH.
///
/// Skips relative entries, because a working directory may contain a program of another user.
package func programDirectories(_ path: String?) -> [String] {
  (path ?? "/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
}
