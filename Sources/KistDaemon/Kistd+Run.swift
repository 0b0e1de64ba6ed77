internal import ArgumentParser
internal import CConcurrency
internal import CLinux
internal import Dispatch
internal import Glibc
internal import KistCore
internal import KistFile
internal import KistSystem
internal import KistWire
internal import Logging

/// Runs kistd with this process's command line on the main thread; see `runKistd`.
package func startKistd() -> Never {
  kist_share_memory()
  kist_run_tasks_unwatched()
  do throws(StorageError) {
    // Confinement must happen while this thread is the only one. Do not store the arguments in a
    // variable: `dispatchMain` ends this thread and would leak them.
    let run = prepareKistd(try CommandLine.words())
    Task { @MainActor in exit(await run()) }
    dispatchMain()
  } catch {
    exit(StandardError().status(reporting: error))
  }
}

/// Runs kistd and ends with its exit status.
///
/// - 0 when kistd was stopped.
/// - 64 for wrong options.
/// - The number of the error in the protocol's table if it could not serve (7: already running).
/// - The status of the command, if there is one.
func runKistd(_ arguments: [String]) async -> Never {
  exit(await prepareKistd(arguments)())
}

/// Confines the process if kistd will serve; returns a function that does the rest, and returns the
/// exit status.
private func prepareKistd(_ arguments: [String]) -> @Sendable () async -> CInt {
  var standardError = StandardError()
  standardError.hasJSON =
    arguments.first.flatMap(KistdCommand.init(rawValue:)) != nil && arguments.contains("--json")
  do {
    let previous = try Hardening.apply()
    let variables = try takeEnvironment()
    let environment: @Sendable (String) -> String? = { variables[$0] }
    standardError.isJournal = isJournal(STDERR_FILENO, environment: environment)
    let run = try preparation(
      for: arguments, environment: environment, previous: previous, standardError)
    return { [standardError] in
      do { return try await run() } catch { return standardError.status(reporting: error) }
    }
  } catch {
    let status = standardError.status(reporting: error)
    return { status }
  }
}

private func preparation(
  for arguments: [String], environment: @escaping @Sendable (String) -> String?,
  previous: Hardening.Previous, _ standardError: StandardError
) throws -> @Sendable () async throws -> CInt {
  if let command = arguments.first.flatMap(KistdCommand.init(rawValue:)) {
    return { try await status(of: command, Array(arguments.dropFirst()), environment: environment) }
  }
  // For `nonsense --help`, the parser would explain kistd.
  if let first = arguments.first, !first.hasPrefix("-") {
    throw StorageError.unexpectedArgument(of: Kistd.self)
  }
  let command = try parse(Kistd.self, arguments)
  // A script may take the command's words from an empty variable.
  guard arguments.last != "--" || !command.command.isEmpty else {
    throw StorageError.wrongUsage(
      "there is no command to run", hint: "write it after --, with its arguments")
  }
  let options = try command.options(environment: environment)
  try Daemon.checkFileLimit()
  // This must happen before kistd opens descriptors for signals, loops, the lock and the socket.
  let source = try EncryptedFile.KeySource(options)
  try options.checkFirstPassphrase(source)
  let keySource = TakenOnce(source, then: options.keySource.unread)
  let sockets = try PassedSockets.take(environment: environment)
  let detached = try options.logFile.map { path throws(StorageError) in
    try Detached(logFile: path, sockets)
  }
  var standardError = standardError
  standardError.log = detached?.log
  // A wrong path is refused before the claim makes a directory.
  if let path = options.socket { _ = try SocketLocation(path: path) }
  let claim: Claim?
  switch try Role(options) {
  case .guest(let guest):
    return try runCommand(of: options, with: guest, opening: keySource.take(), previous)
  case .serving(let taken): claim = taken
  }
  let logger = Logger.kistd(level: options.logLevel, on: standardError)
  let start = ContinuousClock.now
  let attempts = PassphraseAttempts(sleep: sleepUnwatched)
  let context = StorageContext(
    options: options, progress: EncryptedFile.ProgressOptions(options, logger: logger),
    attempts: attempts, environment: environment, logger: logger)
  var daemon = Daemon(
    options: options,
    open: { events throws(StorageError) in
      var context = context
      (context.whenCutOff, context.whenOutdated) = (events.whenCutOff, events.whenOutdated)
      context.keySource = keySource.take()
      return try await OpenStorage.open(context, since: start)
    },
    holdBack: attempts.holdBack,
    environment: environment, logger: logger, sockets: sockets,
    // The command itself sends the notifications of its unit.
    manager: detached?.manager
      ?? (options.command.isEmpty ? ServiceManager(environment: environment) : .none))
  let signals = try Signals.take(forCommand: !options.command.isEmpty)
  // A confined process can no longer open the terminal.
  let hasTerminal = hasTerminal()
  if !options.command.isEmpty { try daemon.prepareCommand(previous: previous) }
  daemon.claim = claim
  do { try daemon.confine() } catch {
    daemon.removeOwnDirectory()
    throw error
  }
  return { [daemon] in try await untilStopped(daemon, by: signals, hasTerminal: hasTerminal) }
}

/// Runs the command with the socket of another kistd, which serves the same storage.
///
/// A passphrase must open the storage there, as it would here. A key file that the user named must
/// be readable.
private func runCommand(
  of options: Options, with guest: Guest, opening source: EncryptedFile.KeySource,
  _ previous: Hardening.Previous
) throws -> @Sendable () async throws -> CInt {
  if options.namesKeyFile, case .keyFile(let path) = source { try EncryptedFile.checkKeyFile(path) }
  _ = try Signals.take(forCommand: true)
  let child = try ChildProcess(
    waitingFor: options.command, socket: guest.socket, previous: previous)
  try guest.confine()
  return {
    defer { extendLifetime(guest) }
    try await guest.check(options.storage)
    if case .passphrase(let passphrase) = source {
      try await guest.check(passphrase, within: options.deadline)
    }
    if options.acceptsRollback { try await guest.checkIsOpen() }
    guard try child.start() else { return 128 + (Signals.handOver() ?? 0) }
    return try await child.end()
  }
}

private func status(
  of command: KistdCommand, _ rest: [String],
  environment: @escaping @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  switch command {
  case .migrate: try await migrate(rest, environment: environment)
  case .keyFile: try await addKeyFile(rest, environment: environment)
  case .fsck: try fsck(rest, environment: environment)
  case .probe: try await probe(rest, environment: environment)
  case .keyringItems: try await printKeyringItems(rest, environment: environment)
  case .rekey: try rekey(rest, environment: environment)
  case .restore: try restore(rest, environment: environment)
  case .vault: try await runVaultCommand(rest, environment: environment)
  }
}

/// Parses a command line; `--help` and `--version` end the process here.
func parse<Command: ParsableCommand>(
  _ command: Command.Type, _ arguments: [String]
) throws(StorageError) -> Command {
  do { return try command.parse(arguments) } catch {
    if command.exitCode(for: error).isSuccess { command.exit(withError: error) }
    throw usageError(error, of: command, in: arguments)
  }
}

/// Stops at SIGTERM, SIGINT and SIGHUP; with a command, these signals are for the command.
///
/// With a terminal, SIGHUP means the end of the terminal (signal(7)). A service has no terminal, so
/// SIGHUP makes kistd open its storage again. The signals are taken before the socket exists, so
/// that kistd misses no signal.
func untilStopped(
  _ daemon: Daemon, by signals: Signals, hasTerminal: Bool
) async throws -> CInt {
  let (hasCommand, manager) = (daemon.child != nil, daemon.manager)
  let (hangups, hangup) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))
  var daemon = daemon
  daemon.reopenLater = { hangup.yield() }
  let run = Task { [daemon] in try await daemon.run(reopening: hangups) }
  signals.whenOneComes { number in
    if number == SIGHUP, !hasCommand, !hasTerminal {
      hangup.yield()
    } else {
      manager.notify(.stopping)
      run.cancel()
    }
  }
  return try await run.value
}

/// Returns whether this process has a controlling terminal (tty(4)).
func hasTerminal() -> Bool {
  let descriptor = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
  guard descriptor >= 0 else { return false }
  close(descriptor)
  return true
}

extension StandardError {
  fileprivate func status(reporting error: any Error) -> CInt {
    switch error {
    case let error as StorageError:
      if hasJSON {
        write(json: error.jsonLine)
      } else {
        report(error.messageAndOutcome, hint: error.hint)
      }
      return error.code.exitStatus
    case let error as CommandNotStarted:
      report(error.description, hint: error.hint)
      return error.exitStatus
    default:
      report("\(error)", hint: nil)
      return StorageError.Code.internal.exitStatus
    }
  }

  fileprivate func report(_ message: String, hint: String?) {
    write("kistd: " + message, level: .error)
    if let hint { write("hint: " + hint, level: .error) }
  }
}

/// The signals that stop or reload kistd, or are for its command.
struct Signals: Sendable {
  private let mailbox: CInt

  /// Takes the signals that end kistd; with a command, also SIGQUIT, SIGUSR1 and SIGUSR2.
  static func take(forCommand: Bool) throws(StorageError) -> Signals {
    let mailbox = kist_take_signals(forCommand ? 1 : 0)
    guard mailbox >= 0 else { throw .internal("cannot take the signals: \(systemText(of: errno))") }
    return Signals(mailbox: mailbox)
  }

  /// Runs a body on a separate thread with the number of each signal that arrives.
  func whenOneComes(_ body: @escaping @Sendable (CInt) -> Void) {
    startThread {
      while true {
        var number: UInt8 = 0
        let count = unsafe read(mailbox, &number, 1)
        if count == 1 { body(CInt(number)) } else if count == 0 || errno != EINTR { return }
      }
    }
  }

  /// Hands the signals over to a command; if a signal came before, only returns that signal.
  static func handOver() -> CInt? {
    let signal = kist_hand_over_signals()
    return signal == 0 ? nil : signal
  }
}
