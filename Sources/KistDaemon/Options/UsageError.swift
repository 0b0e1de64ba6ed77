internal import ArgumentParser
internal import KistCore

/// Returns the error for a wrong command line, worded like other errors of kistd.
///
/// It repeats no arguments except the names of options.
func usageError<Command: ParsableCommand>(
  _ error: any Error, of command: Command.Type = Kistd.self, in arguments: [String] = []
) -> StorageError {
  if let error = error as? StorageError { return error }
  let message = Command.message(for: error)
  // The parser has no error type for it.
  if message.contains("nexpected argument") {
    return .wrongUsage(
      "an argument was not expected", of: command,
      hint: command == Kistd.self ? hint(atWordTooManyIn: arguments) : nil)
  }
  return .wrongUsage(message.prefix(1).lowercased() + message.dropFirst(), of: command)
}

/// Returns the hint for an unexpected word that is a command of kistd.
///
/// The usual advice, `--` before the word, would run a program of that name.
private func hint(atWordTooManyIn arguments: [String]) -> String {
  arguments.lazy.compactMap(KistdCommand.init(rawValue:)).first
    .map { "`kistd \($0.rawValue)` comes first, then its options" }
    ?? "kistd's own commands are \(ownCommands); others stand behind --: `kistd -- COMMAND`"
}

private let ownCommands = KistdCommand.allCases.map(\.rawValue).joined(separator: ", ")

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
