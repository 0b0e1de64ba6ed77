internal import ArgumentParser
internal import KistClient
internal import KistInterop
internal import KistWire

struct Delete: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "Delete a credential.",
    usage: "kist delete <service> [<account>] [options]",
    discussion: """
      Deleting a credential that does not exist is not an error, except with --if-revision. A \
      service without an account is an error if the service has credentials with accounts.

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
    let mayStay = request.key.account.isEmpty
    // With an account, only a user reads the note; a script does not wait for the search.
    if !wasThere, mayStay || terminal.outputIsTerminal && !common.json,
      let nearby = try await storage.nearby(request.key, remedy: { line("kist delete", $0) })
    {
      // A service alone may be meant for a credential with an account, which would then stay.
      if mayStay { throw nearby.withOutcome(.unchanged) }
      return terminal.note(nearby.message, hint: nearby.hint)
    }
    try terminal.reportSuccess(
      wasThere ? "deleted" : "there was no such credential", or: json(deleted: wasThere),
      asJSON: common.json)
  }
}
