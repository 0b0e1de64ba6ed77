internal import Glibc
internal import KistCore
internal import KistJSON
internal import KistSystem
internal import KistTerminal
internal import Logging

/// The output for messages to the user.
struct StandardError: Sendable {
  /// Whether the output is the journal, which reads a priority before each line (sd-daemon(3)).
  var isJournal = false
  /// Whether errors are JSON, as `--json` of a command asks.
  var hasJSON = false
  /// The descriptor of the log that standard error becomes in the background.
  var log: CInt?

  /// Writes a text on one line, or on several if a terminal needs them.
  ///
  /// While standard error is not the log yet, the log gets the text, too. The program that started
  /// kistd may not show it.
  func write(_ text: String, level: Logger.Level) {
    emptyFullLog()
    let lines = asLines(text, of: STDERR_FILENO)
    writeToStandardError((isJournal ? "<\(level.priority)>" : "") + lines + "\n")
    guard let log, !isStandardError(log) else { return }
    _ = Secret(utf8: visible(text) + "\n").withBytes { writeAll($0, to: log) }
  }

  func write(json line: Secret) { _ = line.withBytes { writeAll($0, to: STDERR_FILENO) } }

  /// Limits the log to 1 MiB, because clients can cause lines.
  private func emptyFullLog() {
    guard let log, let file = fileStatus(of: log), file.st_size >= 1 << 20 else { return }
    ftruncate(log, 0)
  }

  private func isStandardError(_ log: CInt) -> Bool {
    guard let log = fileStatus(of: log) else { return false }
    return fileStatus(of: STDERR_FILENO)?.isSameFile(as: log) == true
  }
}

extension Logger.Level {
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

extension Logger {
  /// Returns kistd's logger, which writes level, message and metadata as a line on standard error.
  static func kistd(level: Level, on standardError: StandardError = StandardError()) -> Logger {
    var logger = Logger(label: "kistd") { _ in StandardErrorLog(standardError: standardError) }
    logger.logLevel = level
    return logger
  }
}

private struct StandardErrorLog: LogHandler {
  let standardError: StandardError
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    let details = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    standardError.write(
      "kistd: \(event.level): \(event.message)\(details)", level: event.level)
  }
}

/// Prints the result of a command, on one line, or on several if a terminal needs them.
func printLine(_ text: String) { print(asLines(text, of: STDOUT_FILENO)) }

/// Prints JSON on one line of standard output, with misleading characters as JSON escapes.
func printJSON(_ json: Secret) { print(visible(json: json).withBytes(String.init(repairing:))) }

/// Prints a text that has a secret in it; returns the number of an error (errno(3)), or 0.
func printSecret(_ text: Secret) -> CInt { text.withBytes { writeAll($0, to: STDOUT_FILENO) } }

/// Returns a text as one visible line, wrapped between words to the width of a terminal.
func asLines(_ text: String, of descriptor: CInt) -> String {
  let line = visible(text)
  guard let width = columns(ofTerminal: descriptor) else { return line }
  return wrapped(line, to: width, indent: 2).joined(separator: "\n")
}

/// Shows a command's progress on one terminal line, which the next update or an error overwrites.
func showProgress(_ what: String, _ done: Int, _ total: Int) {
  guard isatty(STDERR_FILENO) == 1 else { return }
  writeToStandardError("\(what) \(done) of \(total)" + (done == total ? "\n" : "\r"))
}
