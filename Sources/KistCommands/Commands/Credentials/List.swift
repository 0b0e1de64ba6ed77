internal import ArgumentParser
internal import KistClient
internal import KistWire

struct List: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "List credentials, without their secrets.",
    usage: "kist list [options]",
    discussion: """
      On a terminal, prints a table, cut to the width. Otherwise prints complete lines of service, \
      account, label, modified, expires and revision, separated by tabs, in no particular order.

        kist list --service github.com --attribute kind=token
        kist list --expiring 14d
      """)

  @OptionGroup var selection: QueryOptions

  // Takes a next word with a dash as the value, so that the error says that it is not a time.
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Only credentials that have expired, or expire within this time.", valueName: "time"))
  var expiring: String?

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    let query = try selection.query()
    let latestExpiry = try Lifetime(expiring, of: "--expiring")?.end(from: terminal.now())
    if terminal.outputIsTerminal && !common.json {
      let found = try await storage.findAll(query).filter { $0.expires(by: latestExpiry) }
        .sorted { $0.key < $1.key }
      guard !found.isEmpty else { return try terminal.writeLines([nothing]) }
      try terminal.writeLines(table(of: found, width: terminal.outputWidth, now: terminal.now()))
    } else {
      try await writePages(of: query, expiringBy: latestExpiry, storage, terminal)
    }
  }

  private var nothing: String {
    selection.meansAll && expiring == nil
      ? "there are no credentials yet" : "there is no such credential"
  }

  /// Writes each page as soon as it comes, so that a long list needs little memory.
  private func writePages(
    of query: CredentialQuery, expiringBy latestExpiry: Timestamp?, _ storage: UserStorage,
    _ terminal: Terminal
  ) async throws(StorageError) {
    try await eachPage(of: query, storage.find) { (page) throws(StorageError) in
      for credential in page.credentials where credential.expires(by: latestExpiry) {
        try terminal.writeRow(columns(of: credential), or: credential.json(), asJSON: common.json)
      }
    }
  }
}

extension CredentialSummary {
  /// Whether it will have expired by a moment; always true without a moment.
  fileprivate func expires(by moment: Timestamp?) -> Bool { moment.map(isExpired) ?? true }
}
