internal import ArgumentParser
internal import KistCore
internal import KistTerminal

/// Returns the error for a command line that the argument parser refuses.
///
/// Replaces a message of the parser that repeats a word, because the word may be a misplaced
/// secret.
func usageError(_ message: String, of arguments: [String]) -> StorageError {
  guard let verb = arguments.first, !verb.hasPrefix("-") else {
    return StorageError(
      .badRequest, worded(message, of: arguments),
      hint: "the command comes first, then its options: `kist --help` shows both")
  }
  if let error = noSuchCommand(among: Array(arguments.prefix(2))) { return error }
  if message.hasPrefix("Unexpected argument") || message.contains(" unexpected arguments: ") {
    return wordTooMany(for: arguments)
  }
  if let error = invalidValue(message, of: arguments) { return error }
  if let error = optionForSecret(message, of: arguments) { return error }
  return StorageError(
    .badRequest, worded(message, of: arguments), hint: hint(at: message, of: arguments))
}

private func hint(at message: String, of arguments: [String]) -> String {
  if message.hasPrefix("Missing value for ") {
    if arguments.contains(where: { $0.hasPrefix("--") && $0.hasSuffix("=") }) {
      return "an empty value is a word of its own: --name ''"
    }
    if message.contains("'\(arguments.last ?? "") ") { return help(for: arguments) }
    return "a value that begins with a dash follows an equals sign: --name=-value"
  }
  if message.hasPrefix("Missing expected argument"), arguments.contains(where: isDashed) {
    return "write a name that begins with a dash after --: `kist \(arguments[0]) -- -name`"
  }
  if arguments[0] == Run.configuration.commandName, !arguments.contains("--") {
    return "write the command after --, with its arguments"
  }
  return help(for: arguments)
}

/// Whether a word begins with one dash although kist has no such option.
private func isDashed(_ word: String) -> Bool {
  word.count > 2 && word.hasPrefix("-") && !word.hasPrefix("--")
}

/// Returns the error for an extra word.
///
/// If the command takes a secret, the word usually is one.
private func wordTooMany(for arguments: [String]) -> StorageError {
  let verb = arguments[0]
  if verb == Run.configuration.commandName {
    return StorageError(
      .badRequest, "`kist run` takes options only before --",
      hint: "write the command after --, with its arguments")
  }
  return StorageError(
    .badRequest,
    words(of: verb).map { "there is a word too many after \($0)" }
      ?? "`kist \(commandNames(in: arguments).joined(separator: " "))` takes options only",
    hint: hint(atWordTooManyIn: arguments))
}

private func hint(atWordTooManyIn arguments: [String]) -> String {
  let verb = arguments[0]
  return switch verb {
  case "list", "audit": "name what is meant with an option: `kist \(verb) --service SERVICE`"
  default: hint(atSecretIn: arguments)
  }
}

/// Returns a hint on how to pass a secret to a command that takes one.
private func hint(atSecretIn arguments: [String]) -> String {
  ["save", "unlock", "passphrase", "backup"].contains(arguments[0])
    ? "kist takes no secret on the command line: pipe it in, or type it at the prompt"
    : help(for: arguments)
}

/// Returns an error for an option that other programs use for secrets.
///
/// kist has no such option, and the parser would suggest one with another meaning.
private func optionForSecret(_ message: String, of arguments: [String]) -> StorageError? {
  let names = ["secret", "password", "passwd", "pass", "passphrase", "token", "value", "stdin"]
  guard let name = names.first(where: { message.hasPrefix("Unknown option '--\($0)'") }) else {
    return nil
  }
  return StorageError(
    .badRequest, "unknown option '--\(name)'", hint: hint(atSecretIn: arguments))
}

/// Returns the names of a command's arguments, from its usage; leaves out subcommands.
private func words(of verb: String) -> String? {
  let command = Kist.configuration.subcommands.first { $0._commandName == verb }
  let words = (command?.configuration.usage ?? "").split(separator: " ")
    .prefix { $0 != "[options]" }.filter { $0.contains("<") && !$0.contains("|") }
  return words.isEmpty
    ? nil : words.map { $0.filter(\.isLetter).uppercased() }.joined(separator: " and ")
}

/// Returns an error that names the option and its valid values; `nil` for another mistake.
///
/// The value itself is in the part of the message before the text that is used here.
private func invalidValue(_ message: String, of arguments: [String]) -> StorageError? {
  guard let before = message.ranges(of: "' is invalid for '").last else { return nil }
  let name = message[before.upperBound...].prefix { $0 != "'" }
  let list = message[before.upperBound...].dropFirst(name.count)
  let values =
    list.contains("\n")
    ? list.split(separator: "\n").dropFirst().map { $0.dropFirst("  - ".count) }
    : list.split(separator: "'").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
  return StorageError(
    .badRequest, "the value of \(name) is not valid",
    hint: values.isEmpty ? help(for: arguments) : "it is one of \(values.joined(separator: ", "))")
}

/// Returns the parser's message, or a general one if it repeats a word.
private func worded(_ message: String, of arguments: [String]) -> String {
  let quoted = message.split(separator: "'")
  let repeatsAWord = arguments.contains { word in
    let parts = value(of: word).split(separator: "'")
    return !parts.isEmpty && parts.allSatisfy(quoted.contains)
  }
  guard repeatsAWord else {
    let message = withLikelyGuess(message, orAtOneOf: ["--help", "--version"])
    return message.prefix(1).lowercased() + message.dropFirst()
  }
  if message.hasPrefix("Unknown option ") { return "an option is not known" }
  return message.contains(" does not take any value")
    ? "an option has a value that takes none" : "an option has a value that is not valid"
}

/// Returns the value in a word `--name=value`, or else the word itself.
///
/// The name of an option may be repeated.
private func value(of word: String) -> Substring {
  guard word.hasPrefix("--") else { return word[...] }
  return word.drop { $0 != "=" }.dropFirst()
}

private func help(for arguments: [String]) -> String {
  "`kist \(commandNames(in: arguments).joined(separator: " ")) --help` shows what can be said"
}
