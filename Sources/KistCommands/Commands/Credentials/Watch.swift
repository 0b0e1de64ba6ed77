internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Watch: RequiresWatch {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Report each change, or run a command after it.",
    usage: "kist watch [<service>] [options] [--exec <command> [<words> ...]]",
    discussion: """
      A line for each change: saved or deleted, service, account and revision, with a tab between \
      them; or reset, if kist may have missed changes, such as while kistd was not running. \
      A command finds KIST_EVENT, KIST_SERVICE and KIST_ACCOUNT in its environment, and no secret.

        kist watch db.example --exec ./rotate
      """)

  @Argument(help: "The service; every one where none is named.")
  var service: String?

  @Flag(help: "End when the connection to kistd does.")
  var noReconnect = false

  @Option(
    name: .customLong("exec"), parsing: .remaining,
    help: ArgumentHelp(
      "Run a command at each change, one at a time; all that follows is the command's.",
      valueName: "command"))
  var command: [String] = []

  @OptionGroup var common: CommonOptions

  func perform(_ watch: WatchCredentials, _ terminal: Terminal) async throws(StorageError) {
    if service?.hasPrefix("kist://") == true {
      throw StorageError(
        .badRequest, "a reference names one credential, and `kist watch` takes a service",
        hint: "name the service, or none for all")
    }
    let watch =
      noReconnect
      ? watch : watch.reconnecting(whenLost: { terminal.reportLoss($0, common) })
    let changes = try await watch(service: service)
    guard command.isEmpty else {
      return try await runAtEach(of: changes, command, terminal, common)
    }
    for try await change in changes {
      try common.json
        ? terminal.writeJSON(change.json())
        : terminal.writeColumns(columns(of: change))
    }
  }

  /// Refuses `--exec` without a command, which the parser treats as if `--exec` were absent.
  static func checkCommand(in arguments: [String]) throws(StorageError) {
    // After `--`, it is a service.
    let words = arguments.drop { $0 != "--" && $0 != "--exec" && !$0.hasPrefix("--exec=") }
    guard arguments.first == configuration.commandName,
      words.first == "--exec=" || words.first == "--exec" && words.dropFirst().first ?? "" == ""
    else { return }
    throw StorageError(
      .badRequest, "there is no command to run", hint: "write it after --exec, with its arguments")
  }

  private func columns(of change: CredentialChange) -> [String] {
    guard let key = change.key else { return [change.event] }
    return [change.event, key.service, key.account, change.revision?.rawValue ?? ""]
  }
}

extension Terminal {
  fileprivate func reportLoss(_ error: StorageError, _ options: CommonOptions) {
    var error = error
    error.hint =
      "kist watches again as soon as it can, and prints reset if it may have missed changes"
    report(error, asJSON: options.json)
  }
}
