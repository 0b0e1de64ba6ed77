internal import ArgumentParser
internal import KistClient
internal import KistWire

struct List: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "List credentials, without their secrets.",
    usage: "kist list [<text>] [options]",
    discussion: """
      On a terminal, prints a table that fits its width. Otherwise prints complete lines of \
      service, account, label, modified, expires and revision, separated by tabs. Both are sorted \
      by service and account.

        kist list github
        kist list --service github.com \\
          --attribute kind=token
        kist list --expiring 14d
      """)

  @Argument(
    help: "Only credentials with this text in the service, account or label; case is ignored.")
  var text: String?

  @OptionGroup var selection: QueryOptions

  // Takes the next word as the value even if it begins with a dash. So `--expiring -1d` fails as an
  // invalid time, not as a missing value.
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Only credentials that have expired, or expire within this time.", valueName: "time"))
  var expiring: String?

  @Flag(help: "Print only references: kist://SERVICE/ACCOUNT.")
  var references = false

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    if references && common.json {
      throw .badRequest("--references and --json cannot be combined")
    }
    let query = try selection.query()
    let latestExpiry = try TimeSpan(expiring, of: "--expiring")?.end(from: terminal.now())
    let text = text?.lowercased()
    let found = try await storage.findAll(query)
      .filter { $0.expires(by: latestExpiry) && $0.contains(text) }
      .sorted { $0.key < $1.key }
    if references {
      return try terminal.writeLines(found.map { CredentialReference($0.key).description })
    }
    guard terminal.outputIsTerminal, !common.json else {
      for credential in found {
        try terminal.writeRow(columns(of: credential), or: credential.json(), asJSON: common.json)
      }
      return
    }
    try terminal.writeLines(
      found.isEmpty
        ? [nothing] : table(of: found, width: terminal.outputWidth, now: terminal.now()))
  }

  private var nothing: String {
    selection.meansAll && expiring == nil && text == nil
      ? "there are no credentials yet" : "no credential matches"
  }
}

extension CredentialSummary {
  /// Whether the credential has expired by a moment; always true if the moment is `nil`.
  fileprivate func expires(by moment: Timestamp?) -> Bool { moment.map(isExpired) ?? true }

  /// Whether the service, account or label contains a lower-case text; always true if it is `nil`.
  fileprivate func contains(_ text: String?) -> Bool {
    guard let text else { return true }
    return [key.service, key.account, label ?? ""].contains { $0.lowercased().contains(text) }
  }
}
