import Glibc

/// A fuzz target.
struct Target: Sendable {
  let name: String
  /// Aborts if a property does not hold.
  let run: @Sendable (Input) -> Void

  init(_ name: String, _ run: @escaping @Sendable (Input) -> Void) {
    self.name = name
    self.run = run
  }
}

/// Aborts unless a property holds, which libFuzzer reports as a crash.
func demand(_ isTrue: Bool, _ property: String, line: Int = #line, file: StaticString = #fileID) {
  if isTrue { return }
  let message = "it does not hold that \(property) (\(file):\(line))\n"
  write(STDERR_FILENO, message, message.utf8.count)
  abort()
}
