internal import Glibc
internal import KistTerminal
internal import Logging

/// Where kistd says what a person is to read.
struct StandardError: Sendable {
  /// Whether that is the journal, which reads a priority before each line (sd-daemon(3)).
  var isJournal = false

  /// Writes a text on a line, or on as many as it takes on a terminal.
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

/// A text with its control and format characters escaped, as `\u{a}`: what a path has in it does
/// not look like another line, hide a part of this one, nor tell a terminal what to do.
func onOneLine(_ text: String) -> String {
  text.unicodeScalars.reduce(into: "") { line, scalar in
    if scalar.isMisleading {
      line += "\\u{" + String(scalar.value, radix: 16) + "}"
    } else {
      line.unicodeScalars.append(scalar)
    }
  }
}

/// One write(2), so that what two threads say does not mix.
func writeToStandardError(_ text: String) {
  var text = text
  _ = text.withUTF8 { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
