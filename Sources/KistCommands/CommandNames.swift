internal import ArgumentParser
internal import KistCore
internal import KistSystem

/// Returns the names at the start of a command line: that of the command, and that of its
/// subcommand.
func commandNames(in arguments: [String]) -> [String] {
  var commands = Kist.configuration.subcommands
  var names: [String] = []
  for word in arguments {
    guard let command = commands.first(where: { $0._commandName == word }) else { break }
    names.append(word)
    commands = command.configuration.subcommands
  }
  return names
}

/// Returns the command with these names; without names, kist itself.
func command(named names: [String]) -> any ParsableCommand.Type {
  names.reduce(Kist.self) { command, name in
    command.configuration.subcommands.first { $0._commandName == name } ?? command
  }
}

/// Returns an error if the words do not name a command and its subcommand; otherwise `nil`.
func noSuchCommand(among words: [String]) -> StorageError? {
  let words = words.filter { !$0.hasPrefix("-") }
  let names = commandNames(in: words)
  let subcommands = command(named: names).configuration.subcommands
  guard !subcommands.isEmpty, let word = words.dropFirst(names.count).first else { return nil }
  if names.isEmpty, commandsOfKistd.contains(word) {
    return .badRequest("there is no such command", hint: "use kistd: `kistd \(word) --help`")
  }
  let known = (["kist"] + names).joined(separator: " ")
  let meant = commandMeant(by: word, among: subcommands.map { $0._commandName })
  let question = meant.map { "did you mean `\(known) \($0)`? " } ?? ""
  return .badRequest(
    "there is no such command",
    hint: "\(question)`\(known) --help` shows \(meant == nil ? "the commands" : "all commands")"
  )
}

/// Returns an error if `kist help` cannot explain these words; otherwise `nil`.
func nothingToExplain(with words: [String]) -> StorageError? {
  if let error = noSuchCommand(among: words) { return error }
  let names = commandNames(in: words.filter { !$0.hasPrefix("-") })
  guard words.filter({ !["-h", "--help"].contains($0) }) != names else { return nil }
  let command = names.joined(separator: " ")
  return .badRequest(
    "`kist help` takes only the name of a command",
    hint: names.isEmpty ? "`kist --help` shows the commands" : "`kist help \(command)` explains it")
}

/// Returns the command of kist that a word probably means: as a command of another tool, or as a
/// misspelling.
private func commandMeant(by word: String, among names: [String]) -> String? {
  let meant = otherNames.first { $0.value.contains(word) }?.key
  if let meant, names.contains(meant) { return meant }
  return nameMeant(by: word, among: names)
}

/// The commands of kistd that a user may look for in kist.
private let commandsOfKistd = ["fsck", "migrate", "probe", "rekey", "restore"]

/// The names that pass, gh, secret-tool and shells use for the same commands.
private let otherNames = [
  "save": ["add", "create", "edit", "generate", "insert", "new", "put", "set", "store"],
  "load": ["cat", "get", "lookup", "print", "read", "show"],
  "delete": ["clear", "del", "erase", "remove", "rm"],
  "list": ["find", "ls", "search"],
  "inject": ["template"],
  "run": ["exec"],
  "status": ["info"],
]

/// Completes a hint, so that its commands ask the same kistd.
///
/// Adds the user's `--socket` to the commands. Without this option, says that they need
/// KIST_SOCKET, if it names another socket: in the shell of the user, it may have another value.
func hint(_ hint: String?, over socket: String?, hasVariable: Bool = false) -> String? {
  guard let hint else { return nil }
  var parts = hint.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
  let commands = parts.indices.filter { !$0.isMultiple(of: 2) && asksKistd(parts[$0]) }
  guard let socket else {
    guard hasVariable, !commands.isEmpty else { return hint }
    return
      "\(hint); \(commands.count == 1 ? "`\(parts[commands[0]])` needs" : "these commands need") the same "
      + "KIST_SOCKET, which `kistd -- COMMAND` sets only for COMMAND"
  }
  for index in commands { parts[index] += " --socket \(shellQuoted(socket))" }
  return parts.joined(separator: "`")
}

/// Returns the value of the last `--socket` on a command line, even if the command line has errors.
func namedSocket(in words: ArraySlice<String>) -> String? {
  let last = words.lastIndex { $0 == "--socket" || $0.hasPrefix("--socket=") }
  guard let last else { return nil }
  return words[last] == "--socket"
    ? words[last...].dropFirst().first : String(words[last].dropFirst("--socket=".count))
}

/// Whether this is a kist command that asks kistd and accepts an option at its end.
private func asksKistd(_ line: String) -> Bool {
  let words = line.split(separator: " ").map(String.init)
  return words.first == "kist"
    && command(named: commandNames(in: Array(words.dropFirst()))) is any AsksKistd.Type
    && !words.contains { ["--help", "--"].contains($0) }
}

/// Returns the name that a word is a misspelling of; `nil` if there is none.
private func nameMeant(by word: String, among names: [String]) -> String? {
  guard word.count <= 40 else { return nil }
  let nearest = names.map { (name: $0, distance: distance(from: word, to: $0)) }
    .min { $0.distance < $1.distance }
  guard let nearest, nearest.distance <= max(1, nearest.name.count / 3) else { return nil }
  return nearest.name
}

/// Returns the number of letters that were left out, added, replaced or swapped (optimal string
/// alignment).
private func distance(from word: String, to name: String) -> Int {
  let (word, name) = (Array(word), Array(name))
  var distance = Array(repeating: Array(0...name.count), count: word.count + 1)
  for i in word.indices {
    distance[i + 1][0] = i + 1
    for j in name.indices {
      distance[i + 1][j + 1] = min(
        distance[i][j + 1] + 1, distance[i + 1][j] + 1,
        distance[i][j] + (word[i] == name[j] ? 0 : 1))
      if i > 0, j > 0, word[i] == name[j - 1], word[i - 1] == name[j] {
        distance[i + 1][j + 1] = min(distance[i + 1][j + 1], distance[i - 1][j - 1] + 1)
      }
    }
  }
  return distance[word.count][name.count]
}

/// Returns the error for a command line that the argument parser refuses.
///
/// Replaces a message that repeats a word, because the word may be a misplaced secret.
func usageError(_ message: String, of arguments: [String]) -> StorageError {
  let hasCommand = arguments.first.map { !$0.hasPrefix("-") } ?? false
  if hasCommand, let error = noSuchCommand(among: Array(arguments.prefix(2))) { return error }
  let command = (["kist"] + commandNames(in: arguments)).joined(separator: " ")
  let help = "`\(command) --help` shows the arguments and options"
  if let error = invalidValue(message, help) { return error }
  let hasWord = repeatsAWord(message, of: arguments)
  if arguments.first == Run._commandName, hasWord {
    return arguments.contains("--") ? .wordBeforeDashes : .commandBeforeDashes
  }
  let isMissing = message.hasPrefix("Missing ")
  // The commands for which the refused word, or an unknown option, may be meant as a secret.
  let takers = ["save", "unlock", "passphrase"] + (hasWord ? ["backup"] : [])
  let message =
    hasWord
    ? "`\(command)` does not accept one of the arguments or options"
    : message.prefix(1).lowercased() + withoutFarSuggestion(message).dropFirst()
  let hint =
    switch arguments.first {
    case _ where !hasCommand:
      "write the command before its options; `kist --help` lists the commands"
    case "run" where !arguments.contains("--"):
      "write the command after --, with its arguments"
    case _ where arguments.prefix(while: { $0 != "--" }).contains(where: isDashed):
      "write a name that begins with a dash after --, and such a value as `--option=-value`"
    case let name? where !isMissing && takers.contains(name):
      "pipe the secret in or type it at the prompt; it is never an argument; \(help)"
    default: help
    }
  return .badRequest(message, hint: hint)
}

extension StorageError {
  /// The error for a command of `kist run` that does not follow `--`.
  fileprivate static let commandBeforeDashes = StorageError.badRequest(
    "the command to run must come after --, so that kist does not take its options",
    hint: "write it as `kist run --env NAME=kist://SERVICE/ACCOUNT -- COMMAND ARGUMENTS`")

  fileprivate static let wordBeforeDashes = StorageError.badRequest(
    "`kist run` does not accept one of the arguments or options before --",
    hint:
      "write the command after --, and --env, --file or --only before each value; `kist run --help` "
      + "shows the options")
}

/// Returns a message of the parser; leaves out a suggestion that is not similar to the option.
private func withoutFarSuggestion(_ message: String) -> String {
  let parts = message.split(separator: "'").map(String.init)
  guard parts.count == 5, parts[2].hasSuffix("Did you mean "),
    nameMeant(by: String(parts[1].drop { $0 == "-" }), among: [String(parts[3].drop { $0 == "-" })])
      == nil
  else { return message }
  return "\(parts[0])'\(parts[1])'"
}

/// Whether a word begins with one dash although kist has no such option.
private func isDashed(_ word: String) -> Bool {
  word.count > 2 && word.hasPrefix("-") && !word.hasPrefix("--")
}

/// Returns an error that names the option and its valid values; `nil` if the value of an option is
/// not the problem.
///
/// Reads only the part of the parser's message after the invalid value, so that the error does not
/// repeat the value.
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
