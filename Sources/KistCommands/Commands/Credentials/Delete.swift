internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Delete: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "Delete a credential.",
    usage: "kist delete <service> [<account>] [options]",
    discussion: """
      Deleting a credential that does not exist is not an error, except with --if-revision.

        kist delete github.com alice
      """)

  @OptionGroup var target: KeyArguments

  @Option(help: ArgumentHelp("Delete it only if it is at this revision.", valueName: "revision"))
  var ifRevision: String?

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    let request = DeleteRequest(
      key: try target.key(), ifRevision: ifRevision.map(Revision.init(rawValue:)))
    let wasThere = try await storage.delete(request)
    var accounts: [String] = []
    if !wasThere, request.key.account.isEmpty, terminal.outputIsTerminal {
      accounts = try await storage.findAll(CredentialQuery(service: request.key.service))
        .map(\.key.account).sorted()
    }
    let others =
      accounts.isEmpty
      ? ""
      : "; the service has credentials with accounts: " + accounts.prefix(5).joined(separator: ", ")
        + (accounts.count > 5 ? ", and \(accounts.count - 5) more" : "")
    try terminal.reportSuccess(
      wasThere ? "deleted" : "there was no such credential\(others)", or: json(deleted: wasThere),
      asJSON: common.json)
  }
}
