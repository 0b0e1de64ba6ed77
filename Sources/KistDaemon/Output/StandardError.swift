internal import Glibc
internal import KistTerminal
internal import Logging

/// The output for messages to the user.
struct StandardError: Sendable {
  /// Whether the output is the journal, which reads a priority before each line (sd-daemon(3)).
  var isJournal = false

  /// Writes a text on one line, or on several if a terminal needs them.
  func write(_ text: String, level: Logger.Level) {
    let lines = asLines(text, of: STDERR_FILENO)
    writeToStandardError((isJournal ? "<\(level.priority)>" : "") + lines + "\n")
  }
}

extension Logger.Level {
  /// The priority of syslog(3).
  fileprivate var priority: Int {
    switch self {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}

/// Writes with one write(2), so that the output of two threads does not mix.
func writeToStandardError(_ text: String) {
  var text = text
  _ = text.withUTF8 { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
