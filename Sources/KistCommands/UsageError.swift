internal import ArgumentParser
internal import KistCore

/// Returns the error for a command line that the argument parser refuses.
///
/// Replaces a message that repeats a word, because the word may be a misplaced secret.
func usageError(_ message: String, of arguments: [String]) -> StorageError {
  let hasCommand = arguments.first.map { !$0.hasPrefix("-") } ?? false
  if hasCommand, let error = noSuchCommand(among: Array(arguments.prefix(2))) { return error }
  let command = (["kist"] + commandNames(in: arguments)).joined(separator: " ")
  let help = "`\(command) --help` shows the arguments and options"
  if let error = invalidValue(message, help) { return error }
  let message =
    repeatsAWord(message, of: arguments)
    ? "`\(command)` does not accept one of the arguments or options"
    : message.prefix(1).lowercased() + message.dropFirst()
  let hint =
    switch arguments.first {
    case _ where !hasCommand:
      "write the command before its options; `kist --help` lists the commands"
    case "run" where !arguments.contains("--"):
      "write the command after --, with its arguments"
    case _ where arguments.prefix(while: { $0 != "--" }).contains(where: isDashed):
      "write a name that begins with a dash after --, and such a value as `--option=-value`"
    case "save", "unlock", "passphrase", "backup":
      "pipe the secret in or type it at the prompt; it is never an argument; \(help)"
    default: help
    }
  return .badRequest(message, hint: hint)
}

/// Whether a word begins with one dash although kist has no such option.
private func isDashed(_ word: String) -> Bool {
  word.count > 2 && word.hasPrefix("-") && !word.hasPrefix("--")
}

/// Returns an error that names the option and its valid values; `nil` for another mistake.
///
/// The value itself is in the part of the message before the text that is used here.
private func invalidValue(_ message: String, _ help: String) -> StorageError? {
  guard let before = message.ranges(of: "' is invalid for '").last else { return nil }
  let name = message[before.upperBound...].prefix { $0 != "'" }
  let list = message[before.upperBound...].dropFirst(name.count)
  let values =
    list.contains("\n")
    ? list.split(separator: "\n").dropFirst().map { $0.dropFirst("  - ".count) }
    : list.split(separator: "'").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
  return .badRequest(
    "the value of \(name) is not valid",
    hint: values.isEmpty ? help : "valid values: \(values.joined(separator: ", "))")
}

/// Whether a message repeats a word, or the value in a word `--name=value`.
private func repeatsAWord(_ message: String, of arguments: [String]) -> Bool {
  let quoted = message.split(separator: "'")
  return arguments.contains { word in
    let value = word.hasPrefix("--") ? word.drop { $0 != "=" }.dropFirst() : word[...]
    let parts = value.split(separator: "'")
    return !parts.isEmpty && parts.allSatisfy(quoted.contains)
  }
}
