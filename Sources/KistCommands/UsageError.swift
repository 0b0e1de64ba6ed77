internal import ArgumentParser
internal import KistCore

/// What is wrong with a command line, by what the argument parser has to say: a message of its
/// own wherever the parser's repeats a word, which may be a secret that was put where none may be.
func usageError(_ message: String, of arguments: [String]) -> StorageError {
  guard let verb = arguments.first, !verb.hasPrefix("-") else {
    return StorageError(
      .badRequest, worded(message, of: arguments),
      hint: "the command comes first, then its options: `kist --help` shows both")
  }
  guard verbs.contains(verb) else {
    return StorageError(
      .badRequest, "there is no such command",
      hint: "the commands are \(verbs.joined(separator: ", ")); `kist --help` explains them")
  }
  if message.hasPrefix("Unexpected argument") || message.contains(" unexpected arguments: ") {
    return wordTooMany(for: verb)
  }
  return StorageError(
    .badRequest, worded(message, of: arguments),
    hint: message.hasPrefix("Missing value for ")
      ? "a value that begins with a dash follows an equals sign: --name=-value" : help(for: verb))
}

/// A word that is neither an option nor a value: where a secret is asked for, it is one most often.
private func wordTooMany(for verb: String) -> StorageError {
  if verb == Run.configuration.commandName {
    return StorageError(
      .badRequest, "`kist run` takes options only before --",
      hint: "the command stands after --, with its words")
  }
  return StorageError(
    .badRequest,
    words(of: verb).map { "there is a word too many after \($0)" }
      ?? "`kist \(verb)` takes options only",
    hint: verb == "save" || verb == "unlock"
      ? "kist takes no secret on the command line: pipe it in, or type it at the prompt"
      : help(for: verb))
}

/// The words that a command takes beside its options.
private func words(of verb: String) -> String? {
  switch verb {
  case "save", "load", "delete": "SERVICE and ACCOUNT"
  case "watch": "SERVICE"
  case "import": "FORMAT and FILE"
  case "export": "FILE"
  default: nil
  }
}

/// The parser's message, or what kind of message it is where it repeats a word.
private func worded(_ message: String, of arguments: [String]) -> String {
  let quoted = message.split(separator: "'")
  let repeatsAWord = arguments.contains { word in
    let parts = value(of: word).split(separator: "'")
    return !parts.isEmpty && parts.allSatisfy(quoted.contains)
  }
  guard repeatsAWord else { return message.prefix(1).lowercased() + message.dropFirst() }
  if message.hasPrefix("Unknown option ") { return "an option is not known" }
  return message.contains(" does not take any value")
    ? "an option has a value that takes none" : "an option has a value that is not valid"
}

/// What a word gives to an option, `--name=value`, or the word itself; the name of an option may be
/// repeated.
private func value(of word: String) -> Substring {
  guard word.hasPrefix("--") else { return word[...] }
  return word.drop { $0 != "=" }.dropFirst()
}

private var verbs: [String] { Kist.configuration.subcommands.map { $0._commandName } }

private func help(for verb: String) -> String { "`kist \(verb) --help` shows what can be said" }
