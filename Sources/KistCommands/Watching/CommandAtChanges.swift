internal import Glibc
internal import KistClient
internal import KistInterop
internal import KistWire

/// Runs a command at each change, one at a time, until there are no more changes.
///
/// Changes that come while it runs wait; only the latest change of each key is kept.
///
/// If the command fails, that is reported, and it runs again at the next change. If it cannot be
/// started, this process ends.
func runAtEach(
  of changes: CredentialChanges, _ command: [String], _ terminal: Terminal,
  _ options: CommonOptions
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
    let status = try status(of: command, at: change, terminal, options)
    if status != 0 {
      terminal.report(
        StorageError(
          .internal, "the command ended with status \(status)",
          hint: "it is run again at the next change, and not before"), asJSON: options.json)
    }
  }
}

/// Runs a command to its end, and forwards signals to it.
private func status(
  of command: [String], at change: CredentialChange, _ terminal: Terminal, _ options: CommonOptions
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
    terminal.report(error.complaint, asJSON: options.json)
    Glibc.exit(error.exitStatus)
  }
}
