internal import ArgumentParser
internal import KistCore
internal import Logging

/// The text of an option, and the name of its flag or variable.
struct Setting {
  var name: String
  var text: String

  func path() throws(StorageError) -> String {
    if text.isEmpty { throw error("is empty; it must be a path") }
    return text
  }

  /// Returns the path for a kistd that leaves the current directory.
  func absolutePath() throws(StorageError) -> String {
    let path = try path()
    guard path.hasPrefix("/") else {
      throw .wrongUsage(
        "\(name) must be an absolute path for a kistd in the background",
        hint: "write `$PWD/…`, because that kistd leaves the current directory")
    }
    return path
  }

  func flag() throws(StorageError) -> Bool {
    guard let value = ["1": true, "0": false][text] else { throw error("must be 1 or 0") }
    return value
  }

  func integer(in range: ClosedRange<Int>) throws(StorageError) -> Int {
    guard let number = Int(text), range.contains(number) else {
      throw error("must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func duration(upTo longest: TimeSpan) throws(StorageError) -> Duration {
    let span = try TimeSpan(text, of: name, in: .milliseconds(1)...longest)
    return .milliseconds(span.milliseconds)
  }

  /// Returns the size of the audit log in bytes, from 64 KiB to 16 GiB; 0 for `off`.
  func auditSize() throws(StorageError) -> Int {
    if text == "off" { return 0 }
    let units = ["KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30]
    guard let unit = units[String(text.suffix(3))], let number = Int(text.dropLast(3)),
      case (let size, false) = number.multipliedReportingOverflow(by: unit),
      (64 << 10...16 << 30).contains(size)
    else { throw error("must be off or a size from 64KiB to 16GiB, such as 16MiB") }
    return size
  }

  func storageKind() throws(StorageError) -> StorageKind? {
    if text == "auto" { return nil }
    guard let kind = StorageKind(rawValue: text) else {
      throw error("must be " + listed(StorageKind.namesOfOption, "or"))
    }
    return kind
  }

  func logLevel() throws(StorageError) -> Logger.Level {
    guard let level = Logger.Level(rawValue: text) else {
      throw error("must be one of " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return level
  }

  private func error(_ what: String) -> StorageError { .wrongUsage("\(name) \(what)") }
}

/// Returns the error for a wrong command line, which repeats only the names of options.
func usageError<Command: ParsableCommand>(
  _ error: any Error, of command: Command.Type = Kistd.self, in arguments: [String] = []
) -> StorageError {
  if let error = error as? StorageError { return error }
  let message = Command.message(for: error)
  // The parser has no error types for an unexpected argument and an unknown option.
  let isUnexpected = message.contains("nexpected argument")
  if command == Kistd.self, isUnexpected || message.contains("nknown option"),
    let late = arguments.prefix(while: { $0 != "--" }).lazy.compactMap(KistdCommand.init).first
  {
    return .wrongUsage(
      "the command \(late.rawValue) must come before the options",
      hint: "write `kistd \(late.rawValue)` first, then its options")
  }
  if command == Kistd.self, arguments.prefix(while: { $0 != "--" }).contains("kist") {
    return .wrongUsage("`--` is missing before `kist`", hint: "write `kistd … -- kist …`")
  }
  if isUnexpected { return .unexpectedArgument(of: command) }
  // The option may be one of a program, before which `--` is missing.
  return .wrongUsage(
    message.prefix(1).lowercased() + message.dropFirst(), of: command,
    hint: command == Kistd.self
      ? "`kistd --help` shows the options; to run another program: `kistd -- COMMAND`" : nil)
}

extension StorageError {
  static func unexpectedArgument<Command: ParsableCommand>(
    of command: Command.Type
  ) -> StorageError {
    let commands = KistdCommand.allCases.map(\.rawValue).joined(separator: ", ")
    return .wrongUsage(
      "unexpected argument", of: command,
      hint: command == Kistd.self
        ? "the commands of kistd are \(commands); to run another program: `kistd -- COMMAND`" : nil)
  }
}

extension StorageError {
  /// Returns the error for a wrong option or variable, without its value.
  static func wrongUsage(
    _ message: String, of command: any ParsableCommand.Type = Kistd.self, hint: String? = nil
  ) -> StorageError {
    StorageError(
      .badRequest, message,
      hint: hint ?? "`\(command.configuration.commandName ?? "kistd") --help` shows the options")
  }
}
