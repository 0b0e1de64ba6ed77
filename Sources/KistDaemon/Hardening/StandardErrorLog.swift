internal import Glibc
package import Logging

extension Logger {
  /// The log of kistd: a line of level, message and metadata on standard error.
  package static func kistd(level: Level) -> Logger {
    var logger = Logger(label: "kistd") { _ in StandardErrorLog() }
    logger.logLevel = level
    return logger
  }
}

private struct StandardErrorLog: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    let details = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    writeToStandardError("kistd: \(event.level): " + onOneLine("\(event.message)\(details)") + "\n")
  }
}

/// A text with its control and format characters escaped, as `\u{a}`: what a path has in it does
/// not look like another line, nor tell a terminal what to do.
func onOneLine(_ text: String) -> String {
  text.unicodeScalars.reduce(into: "") { line, scalar in
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .format:
      line += "\\u{" + String(scalar.value, radix: 16) + "}"
    default: line.unicodeScalars.append(scalar)
    }
  }
}

/// One write(2), so that what two threads say does not mix.
func writeToStandardError(_ text: String) {
  var text = text
  _ = text.withUTF8 { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
