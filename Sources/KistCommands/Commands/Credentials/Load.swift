internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Load: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    commandName: "load",
    abstract: "Print the secret of a credential, byte for byte.",
    usage: "kist load <service> [<account>] [options]",
    discussion: """
      Only on a terminal a newline follows it.

        PGPASSWORD=$(kist load db.example alice) psql -U alice
      """)

  @OptionGroup var target: KeyArguments

  @Flag(help: "Load it even if it has expired.")
  var allowExpired = false

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    let request = LoadRequest(key: try target.key(), allowExpired: allowExpired)
    let credential = try await storage.load(request)
    if common.json {
      try terminal.writeLine(credential.json())
    } else if terminal.outputIsTerminal {
      try terminal.writeLine(credential.secret)
    } else {
      try terminal.writeBytes(credential.secret)
    }
  }
}
