internal import ArgumentParser
internal import KistCore

/// What the argument parser has to say, unless it repeats a word of the command line: the word may
/// be a secret that was put where none may be.
func usageError(_ message: String, of arguments: [String]) -> StorageError {
  let quoted = message.split(separator: "'")
  let repeatsAWord = arguments.contains { word in
    let parts = value(of: word).split(separator: "'")
    return !parts.isEmpty && parts.allSatisfy(quoted.contains)
  }
  let verb = arguments.first { verbs.contains($0) }
  var hint = "`kist \(verb.map { $0 + " " } ?? "")--help` shows what can be said"
  if verb == "save" || verb == "unlock" {
    hint += "; a secret is never said here: pipe it in, or type it at the prompt"
  }
  return StorageError(
    .badRequest,
    repeatsAWord ? "an argument was not expected, or is no valid value" : lowercasedFirst(message),
    hint: hint)
}

/// What a word gives to an option, `--name=value`, or the word itself; the name of an option may be
/// repeated.
private func value(of word: String) -> Substring {
  guard word.hasPrefix("--") else { return word[...] }
  return word.drop { $0 != "=" }.dropFirst()
}

private var verbs: [String] { Kist.configuration.subcommands.map { $0._commandName } }

private func lowercasedFirst(_ message: String) -> String {
  message.prefix(1).lowercased() + message.dropFirst()
}
