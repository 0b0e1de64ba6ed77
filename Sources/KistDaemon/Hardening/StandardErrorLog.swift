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
    let line = "kistd: \(event.level): \(event.message)\(details)\n"
    writeToStandardError(line)
  }
}

/// One write(2), so that what two threads say does not mix.
func writeToStandardError(_ text: String) {
  var text = text
  _ = text.withUTF8 { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
