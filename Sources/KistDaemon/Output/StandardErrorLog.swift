internal import Logging

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
