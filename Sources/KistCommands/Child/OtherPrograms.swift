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
func linesPrinted(by words: [String]) -> [String] {
  guard let program = absolutePath(of: words[0]) else { return [] }
  let command = ([program] + words.dropFirst()).map(shellQuoted).joined(separator: " ")
  guard let stream = unsafe popen(command, "re") else { return [] }
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

/// Where a program is along PATH, but for the entries that are not absolute: in them may be a
/// program of somebody else's, as in a directory of downloads.
private func absolutePath(of program: String) -> String? {
  (environmentVariable("PATH") ?? "/usr/bin:/bin").split(separator: ":")
    .filter { $0.hasPrefix("/") }.map { "\($0)/\(program)" }
    .first { unsafe access($0, X_OK) == 0 }
}
