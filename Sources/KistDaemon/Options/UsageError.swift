internal import ArgumentParser
internal import KistCore
internal import KistTerminal

/// What is wrong with a command line, worded as every other error of kistd; its words are not
/// repeated, but for the names of options.
func usageError<Command: ParsableCommand>(
  _ error: any Error, of command: Command.Type = Kistd.self, in arguments: [String] = []
) -> StorageError {
  if let error = error as? StorageError { return error }
  let message = Command.message(for: error)
  // The parser has no type of its own for it.
  if message.contains("nexpected argument") {
    return .wrongUsage(
      "an argument was not expected", of: command,
      hint: command == Kistd.self ? hint(atWordTooManyIn: arguments) : nil)
  }
  let ends = ["--help"] + (command.configuration.version.isEmpty ? [] : ["--version"])
  let said = withLikelyGuess(message, orAtOneOf: ends)
  return .wrongUsage(said.prefix(1).lowercased() + said.dropFirst(), of: command)
}

/// With `--` before it, the word for something else that kistd does would run a program of that name.
private func hint(atWordTooManyIn arguments: [String]) -> String {
  arguments.lazy.compactMap(KistdCommand.init(rawValue:)).first
    .map { "`kistd \($0.rawValue)` comes first, then its options" }
    ?? "kistd's own commands are \(ownCommands); others stand behind --: `kistd -- COMMAND`"
}

private let ownCommands = KistdCommand.allCases.map(\.rawValue).joined(separator: ", ")

extension StorageError {
  /// An option or a variable that is wrong, told without its value.
  static func wrongUsage(
    _ message: String, of command: any ParsableCommand.Type = Kistd.self, hint: String? = nil
  ) -> StorageError {
    StorageError(
      .badRequest, message,
      hint: hint ?? "`\(command.configuration.commandName ?? "kistd") --help` shows the options")
  }
}
