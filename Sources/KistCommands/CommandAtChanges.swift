internal import Glibc
internal import KistClient
internal import KistCore
internal import KistInterop
internal import KistWire
private import Synchronization

/// Runs a command at each change, one at a time, until there are no more changes.
///
/// Changes that come while it runs wait; only the latest change of each key is kept.
///
/// A failure is reported, and the command runs again at the next change. If it cannot be started,
/// this process ends.
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

/// Changes that wait for a command to end: the latest of each key, in the order of the keys.
///
/// A `reset` replaces all waiting and later changes, because a watcher then reads everything again.
/// If there are more keys than the limit of a watcher's queue, a `reset` replaces them too.
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

  /// Waits for the next change, for one task; returns `nil` if there are no more.
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
