internal import Glibc
internal import KistClient
internal import KistCore

/// Becomes another program, found along PATH; returns why not, where it cannot.
func become(_ words: [String]) -> StorageError {
  let command = [absolutePath(of: words[0]) ?? "/nonexistent/\(words[0])"] + words.dropFirst()
  let failure = replaceProcess(by: command, .unchanged).failure
  return StorageError(
    .unavailable, "\(words[0]) could not be run: \(describe(failure))",
    hint: "install \(words[0]), or see whether it is on PATH")
}

/// How many helpers git has, for this user, that are not kist.
func otherGitHelpers() -> Int {
  guard
    let git = absolutePath(of: "git"), !git.contains("'"),
    let stream = unsafe popen("'\(git)' config --global --get-all credential.helper", "re")
  else { return 0 }
  var helpers = 0
  var line = [CChar](repeating: 0, count: 4096)
  while unsafe fgets(&line, CInt(line.count), stream) != nil {
    if unsafe strcmp(line, "kist\n") != 0 { helpers += 1 }
  }
  unsafe pclose(stream)
  return helpers
}

/// Where a program is along PATH, but for the entries that are not absolute: in them may be a
/// program of somebody else's, as in a directory of downloads.
private func absolutePath(of program: String) -> String? {
  (environmentVariable("PATH") ?? "/usr/bin:/bin").split(separator: ":")
    .filter { $0.hasPrefix("/") }.map { "\($0)/\(program)" }
    .first { unsafe access($0, X_OK) == 0 }
}
