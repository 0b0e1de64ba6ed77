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

/// The lines that another program prints, found along PATH; none where it cannot be run.
///
/// What it says on standard error is not shown where it is silenced.
func linesPrinted(by words: [String], silencing: Bool = false) -> [String] {
  guard let program = absolutePath(of: words[0]) else { return [] }
  let command = ([program] + words.dropFirst()).map(shellQuoted).joined(separator: " ")
  guard let stream = unsafe popen(command + (silencing ? " 2>/dev/null" : ""), "re") else {
    return []
  }
  var lines: [String] = []
  var line: UnsafeMutablePointer<CChar>?
  var capacity = 0
  while unsafe getline(&line, &capacity, stream) > 0 {
    lines += unsafe String(cString: line!).split(separator: "\n").map(String.init)
  }
  unsafe free(line)
  unsafe pclose(stream)
  return lines
}

func absolutePath(of program: String) -> String? {
  path(of: program, in: environmentVariable("PATH")) { unsafe access($0, X_OK) == 0 }
}

/// Where a program is along PATH; one that has a path is there.
///
/// The entries that are not absolute are passed over: in them may be a program of somebody else's, as in a
/// directory of downloads.
func path(
  of program: String, in directories: String?, isProgram: (String) -> Bool
) -> String? {
  if program.contains("/") { return isProgram(program) ? program : nil }
  return (directories ?? "/usr/bin:/bin").split(separator: ":")
    .filter { $0.hasPrefix("/") }.map { "\($0)/\(program)" }.first(where: isProgram)
}
