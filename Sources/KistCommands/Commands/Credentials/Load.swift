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

  // Takes the next word as the value even if it begins with a dash, so that the error is about
  // times.
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Only if it does not expire for so long.", valueName: "time"))
  var minRemaining: String?

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    if allowExpired && minRemaining != nil {
      throw .badRequest("--allow-expired and --min-remaining exclude each other")
    }
    let remaining = try minRemaining.map { time throws(StorageError) in
      try Lifetime(time, of: "--min-remaining")
    }
    let request = LoadRequest(key: try target.key(), allowExpired: allowExpired)
    let credential = try await storage.load(request)
    if let remaining, let moment = credential.summary.expiresAt,
      moment < remaining.end(from: terminal.now())
    {
      throw StorageError(
        .expired, "the credential expires too soon, at \(moment)",
        hint: "save a new one, or ask for less with `--min-remaining`")
    }
    if common.json {
      try terminal.writeJSON(credential.json())
    } else if terminal.outputIsTerminal {
      try terminal.writeBytes(credential.secret.withNewline)
    } else {
      try terminal.writeBytes(credential.secret)
    }
  }
}
