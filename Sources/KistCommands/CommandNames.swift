internal import ArgumentParser
internal import KistCore
internal import KistTerminal

/// The names of commands that a command line begins with: a command's, and that of a command in it.
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

/// The command of such names; of none, kist itself.
func command(named names: [String]) -> any ParsableCommand.Type {
  names.reduce(Kist.self) { command, name in
    command.configuration.subcommands.first { $0._commandName == name } ?? command
  }
}

/// Where words that should name a command, and one in it, do not; `nil` where they do.
func noSuchCommand(among words: [String]) -> StorageError? {
  var commands = Kist.configuration.subcommands
  var known = "kist"
  for word in words where !word.hasPrefix("-") {
    if commands.isEmpty { return nil }
    guard let command = commands.first(where: { $0._commandName == word }) else {
      if known == "kist", commandsOfKistd.contains(word) {
        return StorageError(
          .badRequest, "there is no such command", hint: "it is kistd's: `kistd \(word) --help`")
      }
      let meant = commandMeant(by: word, among: commands.map { $0._commandName })
      let question = meant.map { "did you mean `\(known) \($0)`? " } ?? ""
      return StorageError(
        .badRequest, "there is no such command",
        hint: "\(question)`\(known) --help` shows \(meant == nil ? "the commands" : "all")")
    }
    known += " \(word)"
    commands = command.configuration.subcommands
  }
  return nil
}

/// Where there is nothing that `kist help` could explain with some words; `nil` where there is.
func nothingToExplain(with words: [String]) -> StorageError? {
  if let error = noSuchCommand(among: words) { return error }
  let names = commandNames(in: words.filter { !$0.hasPrefix("-") })
  guard words.filter({ !["-h", "--help"].contains($0) }) != names else { return nil }
  let command = names.joined(separator: " ")
  return StorageError(
    .badRequest, "`kist help` takes the name of a command only",
    hint: names.isEmpty ? "`kist --help` shows them" : "`kist help \(command)` explains that one")
}

/// The command that a word stands for in other tools, or that it is a slip of the hand away from.
private func commandMeant(by word: String, among names: [String]) -> String? {
  let meant = otherNames.first { $0.value.contains(word) }?.key
  if let meant, names.contains(meant) { return meant }
  return nameMeant(by: word, among: names)
}

/// What a person may look for here that works on a store while nobody serves it.
private let commandsOfKistd = ["fsck", "migrate", "probe", "rekey", "restore"]

/// What pass, gh, secret-tool and shells call what our commands do.
private let otherNames = [
  "save": ["add", "create", "edit", "generate", "insert", "new", "put", "set", "store"],
  "load": ["cat", "get", "lookup", "print", "read", "show"],
  "delete": ["clear", "del", "erase", "remove", "rm"],
  "list": ["find", "ls", "search"],
  "inject": ["template"],
  "run": ["exec"],
  "status": ["info"],
]
