internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Watch: RequiresWatch {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Tell of each change, or run a command at it.",
    usage: "kist watch [<service>] [options] [--exec <command> [<words> ...]]",
    discussion: """
      A line for each change: saved or deleted, service, account and revision, with a tab between \
      them; or reset, where something may have changed that is not told, as while kistd was away. \
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
      ? watch : watch.reconnecting(whenLost: { terminal.tellOfLoss($0, common) })
    let changes = try await watch(service: service)
    guard command.isEmpty else {
      return try await runAtEach(of: changes, command, terminal, common)
    }
    for try await change in changes {
      try common.json
        ? terminal.writeLine(change.json())
        : terminal.write(line(of: change, isShown: terminal.outputIsTerminal))
    }
  }

  /// Refuses `--exec` without a command, which the parser takes for none.
  static func checkCommand(in arguments: [String]) throws(StorageError) {
    // After `--`, it is a service.
    let words = arguments.drop { $0 != "--" && $0 != "--exec" && !$0.hasPrefix("--exec=") }
    guard arguments.first == configuration.commandName,
      words.first == "--exec=" || words.first == "--exec" && words.dropFirst().first ?? "" == ""
    else { return }
    throw StorageError(
      .badRequest, "there is no command to run", hint: "it stands after --exec, with its words")
  }

  private func line(of change: CredentialChange, isShown: Bool) -> String {
    var columns = [change.event]
    if let key = change.key {
      columns += [key.service, key.account, change.revision?.rawValue ?? ""]
    }
    return (isShown ? columns.map(visible) : columns).joined(separator: "\t") + "\n"
  }
}

extension Terminal {
  fileprivate func tellOfLoss(_ error: StorageError, _ options: CommonOptions) {
    var error = error
    error.hint =
      "it is watched again as soon as that can be; a reset is told where something was changed "
      + "meanwhile"
    report(error, asJSON: options.json)
  }
}
