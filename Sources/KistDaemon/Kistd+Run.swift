internal import ArgumentParser
internal import CConcurrency
internal import CLinux
internal import Glibc
internal import KistCore
internal import KistFile
internal import Logging

/// Runs kistd with the words of this process's command line; see `runKistd`.
package func startKistd() async -> Never {
  kist_share_memory()
  kist_run_tasks_unwatched()
  guard let arguments = CommandLine.validArguments else {
    let error = StorageError.badRequest("an argument is not UTF-8")
    StandardError().report(error.message, hint: error.hint)
    exit(error.code.exitStatus)
  }
  await runKistd(arguments)
}

/// Runs kistd and ends with its exit status: 0 when it was told to stop, 64 for bad options, the number
/// of the error in the protocol's table where it could not serve (7: it is running already), and
/// with a command, that command's.
func runKistd(_ arguments: [String]) async -> Never {
  exit(await status(of: arguments))
}

private func status(of arguments: [String]) async -> CInt {
  var standardError = StandardError()
  do {
    let previous = try Hardening.apply()
    let variables = try takeEnvironment()
    let environment: @Sendable (String) -> String? = { variables[$0] }
    standardError.isJournal = isJournal(STDERR_FILENO, environment: environment)
    if let status = try await commandStatus(of: arguments, environment: environment) {
      return status
    }
    let command = try parse(Kistd.self, arguments)
    // What a script takes the words of a command from may be empty.
    guard arguments.last != "--" || !command.command.isEmpty else {
      throw StorageError.wrongUsage(
        "there is no command to serve for", hint: "it stands after --, with its words")
    }
    let options = try command.options(environment: environment)
    // Before the descriptors of signals, event loops, lock and socket are there.
    let keySource = KeySourceForOnce(try EncryptedFile.KeySource(options))
    let sockets = try PassedSockets.take(environment: environment)
    let logger = Logger.kistd(level: options.logLevel, on: standardError)
    let start = ContinuousClock.now
    let daemon = Daemon(
      options: options,
      open: { () throws(StorageError) in
        try await OpenStorage.open(
          options, keySource: keySource.take(), environment: environment, logger: logger,
          since: start)
      },
      environment: environment, logger: logger, previous: previous, sockets: sockets,
      // What a command's own unit hears is the command's to say.
      manager: options.command.isEmpty ? ServiceManager(environment: environment) : .none)
    return try await untilToldToStop(daemon)
  } catch let error as StorageError {
    standardError.report(error.message, hint: error.hint)
    return error.code.exitStatus
  } catch let error as CommandNotStarted {
    standardError.report(error.description, hint: error.hint)
    return error.exitStatus
  } catch {
    standardError.report("\(error)", hint: nil)
    return StorageError.Code.internal.exitStatus
  }
}

/// Carries out a command of kistd's and gives its exit status; `nil` where it is to serve.
private func commandStatus(
  of arguments: [String], environment: @escaping @Sendable (String) -> String?
) async throws(StorageError) -> CInt? {
  let rest = Array(arguments.dropFirst())
  return switch arguments.first.flatMap(KistdCommand.init(rawValue:)) {
  case .migrate: try await migrate(rest, environment: environment)
  case .fsck: try fsck(rest, environment: environment)
  case .probe: try await probe(rest, environment: environment)
  case .keyringItems: try await printKeyringItems(rest, environment: environment)
  case .rekey: try rekey(rest, environment: environment)
  case .restore: try restore(rest, environment: environment)
  case nil: nil
  }
}

/// Reads a command line; `--help` and `--version` end here.
func parse<Command: ParsableCommand>(
  _ command: Command.Type, _ arguments: [String]
) throws(StorageError) -> Command {
  do { return try command.parse(arguments) } catch {
    if command.exitCode(for: error).isSuccess { command.exit(withError: error) }
    throw usageError(error, of: command, in: arguments)
  }
}

/// Stops at SIGTERM, SIGINT and SIGHUP; with a command they are for that.
///
/// SIGHUP is the end of a terminal where there is one (signal(7)); a service, which has none, opens
/// its storage again. They are taken before the socket is there, so that they are never missed.
func untilToldToStop(_ daemon: Daemon, hasTerminal: Bool = hasTerminal()) async throws -> CInt {
  let hasCommand = !daemon.options.command.isEmpty
  let signals = try Signals.take(forCommand: hasCommand)
  let (hangups, hangup) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))
  let run = Task { try await daemon.run(reopening: hangups) }
  signals.whenOneComes { number in
    if number == SIGHUP, !hasCommand, !hasTerminal {
      hangup.yield()
    } else {
      daemon.manager.tell(.stopping)
      run.cancel()
    }
  }
  return try await run.value
}

/// Whether this process has a controlling terminal (tty(4)).
func hasTerminal() -> Bool {
  let descriptor = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
  guard descriptor >= 0 else { return false }
  close(descriptor)
  return true
}

extension StandardError {
  fileprivate func report(_ message: String, hint: String?) {
    write("kistd: " + message, level: .error)
    if let hint { write("hint: " + hint, level: .error) }
  }
}
