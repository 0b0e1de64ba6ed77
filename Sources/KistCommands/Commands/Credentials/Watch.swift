internal import ArgumentParser
internal import Glibc
internal import KistClient
internal import KistInterop
internal import KistWire
private import Synchronization

struct Watch: RequiresWatch {
  static let configuration = CommandConfiguration(
    abstract: "Report each change of a credential, or run a command after it.",
    usage: "kist watch [<service>] [options] [--exec <command> [<words> ...]]",
    discussion: """
      Prints a line for each change: saved or deleted, service, account and revision, separated by \
      tabs. Prints reset if kist may have missed changes, such as while kistd was not running. \
      A command gets KIST_EVENT, KIST_SERVICE and KIST_ACCOUNT in its environment, but no secret.

        kist watch db.example --exec ./rotate
      """)

  @Argument(help: "The service; without it, every service.")
  var service: String?

  @Flag(help: "End when the connection to kistd ends.")
  var noReconnect = false

  @Option(
    name: .customLong("exec"), parsing: .remaining,
    help: ArgumentHelp(
      "Run a command at each change, one at a time; the words after it are its arguments.",
      valueName: "command"))
  var command: [String] = []

  @OptionGroup var common: CommonOptions

  func perform(_ watch: WatchCredentials, _ terminal: Terminal) async throws(StorageError) {
    if service?.hasPrefix("kist://") == true {
      throw .badRequest(
        "`kist watch` takes a service, not a reference to one credential",
        hint: "name only the service, or nothing to watch all services")
    }
    let watch = noReconnect ? watch : watch.reconnecting(whenLost: { reportLoss($0, terminal) })
    let changes = try await watch(service: service)
    guard command.isEmpty else { return try await runCommand(atEach: changes, terminal) }
    for try await change in changes {
      try terminal.writeRow(columns(of: change), or: change.json(), asJSON: common.json)
    }
  }

  /// Refuses `--exec` without a command, which the parser treats as if `--exec` were absent.
  static func checkCommand(in arguments: [String]) throws(StorageError) {
    // After `--`, the word `--exec` is the name of a service.
    let words = arguments.drop { $0 != "--" && $0 != "--exec" && !$0.hasPrefix("--exec=") }
    guard arguments.first == _commandName,
      words.first == "--exec=" || words.first == "--exec" && words.dropFirst().first ?? "" == ""
    else { return }
    throw .badRequest(
      "there is no command to run", hint: "write it after --exec, with its arguments")
  }

  private func columns(of change: CredentialChange) -> [String] {
    guard let key = change.key else { return [change.event] }
    return [change.event, key.service, key.account, change.revision?.rawValue ?? ""]
  }

  private func reportLoss(_ error: StorageError, _ terminal: Terminal) {
    var error = error
    error.hint =
      "kist reconnects as soon as it can, and prints reset if it may have missed changes"
    terminal.report(error, asJSON: common.json)
  }

  /// Runs the command at each change, one at a time, until there are no more changes.
  ///
  /// While the command runs, changes wait. Only the latest change of each credential is kept.
  ///
  /// If the command fails, kist reports that, and runs it again at the next change. If the command
  /// cannot be started, this process ends.
  private func runCommand(
    atEach changes: CredentialChanges, _ terminal: Terminal
  ) async throws(StorageError) {
    let waiting = WaitingChanges()
    // Detached, because the calling thread waits for the command.
    let reading = Task.detached {
      do throws(StorageError) {
        for try await change in changes { waiting.put(change) }
        waiting.end(nil)
      } catch { waiting.end(error) }
    }
    defer { reading.cancel() }
    while let change = try await waiting.next() {
      let status = try runCommand(at: change, terminal)
      if status != 0 {
        terminal.report(
          StorageError(
            .internal, "the command ended with status \(status)",
            hint: "kist runs it again at the next change"), asJSON: common.json)
      }
    }
  }

  /// Returns the exit status of the command; ends this process if it cannot be started.
  private func runCommand(
    at change: CredentialChange, _ terminal: Terminal
  ) throws(StorageError) -> CInt {
    let environment = try ChildEnvironment(setting: [
      Setting(name: "KIST_EVENT", value: Secret(utf8: change.event)),
      Setting(name: "KIST_SERVICE", value: Secret(utf8: change.key?.service ?? "")),
      Setting(name: "KIST_ACCOUNT", value: Secret(utf8: change.key?.account ?? "")),
    ])
    do throws(CommandNotStarted) {
      try keepSignals()
      let status = endOfChild(try startChild(command, environment))
      giveBackSignals()
      return status
    } catch {
      terminal.end(error, asJSON: common.json)
    }
  }
}

/// The changes that wait while a command runs: the latest change of each credential, in order of
/// arrival.
///
/// After a `reset`, the command reads everything again. So a `reset` replaces all waiting changes,
/// and the changes that arrive before the command gets it. If too many changes wait, a `reset`
/// replaces them, too.
final class WaitingChanges: Sendable {
  private struct State {
    var changes: [CredentialChange] = []
    var isOver = false
    var end: StorageError?
    var whenThere: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func put(_ change: CredentialChange) {
    wake { state in
      if state.changes == [.reset] { return }
      state.changes.removeAll { $0.key == change.key }
      if change == .reset || state.changes.count == Limits.watch {
        state.changes = [.reset]
      } else {
        state.changes.append(change)
      }
    }
  }

  func end(_ reason: StorageError?) {
    wake { state in
      state.isOver = true
      state.end = reason
    }
  }

  /// Waits for the next change, and returns it, or `nil` if there are no more.
  ///
  /// Only one task at a time may call it.
  func next() async throws(StorageError) -> CredentialChange? {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        let isThere = state.isOver || !state.changes.isEmpty
        if !isThere { state.whenThere = continuation }
        return isThere
      }
      if isThere { continuation.resume() }
    }
    return try state.withLock { state throws(StorageError) in
      if !state.changes.isEmpty { return state.changes.removeFirst() }
      if let end = state.end { throw end }
      return nil
    }
  }

  private func wake(_ body: (inout State) -> Void) {
    let waiting = state.withLock { state in
      body(&state)
      defer { state.whenThere = nil }
      return state.whenThere
    }
    waiting?.resume()
  }
}
