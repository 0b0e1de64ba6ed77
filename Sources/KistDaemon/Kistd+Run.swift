internal import ArgumentParser
internal import Glibc
internal import KistCore
internal import KistFile
internal import Logging

/// Runs kistd with the words of this process's command line; see `runKistd`.
package func startKistd() async -> Never {
  guard let arguments = CommandLine.validArguments else {
    let error = StorageError.badRequest("an argument is not UTF-8")
    report(error.message, hint: error.hint)
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
  do {
    let previous = try Hardening.apply()
    let variables = try readEnvironment()
    let environment: @Sendable (String) -> String? = { variables[$0] }
    if arguments.first == "migrate" {
      return try await migrate(Array(arguments.dropFirst()), environment: environment)
    }
    let options = try parse(Kistd.self, arguments).options(environment: environment)
    // Before the descriptors of signals, event loops, lock and socket are there.
    let keySource = try EncryptedFile.KeySource(options.keySource)
    let logger = Logger.kistd(level: options.logLevel)
    let daemon = Daemon(
      options: options,
      open: { () throws(StorageError) in
        try await OpenStorage.open(
          options, keySource: keySource, environment: environment, logger: logger)
      },
      environment: environment, logger: logger, previous: previous)
    return try await untilToldToStop(daemon)
  } catch let error as StorageError {
    report(error.message, hint: error.hint)
    return error.code.exitStatus
  } catch let error as CommandNotStarted {
    report(error.description, hint: nil)
    return error.exitStatus
  } catch {
    report("\(error)", hint: nil)
    return StorageError.Code.internal.exitStatus
  }
}

private func parse<Command: ParsableCommand>(
  _ command: Command.Type, _ arguments: [String]
) throws(StorageError) -> Command {
  do { return try command.parse(arguments) } catch {
    // How `--help` and `--version` end.
    if command.exitCode(for: error).isSuccess { command.exit(withError: error) }
    throw usageError(error, of: command)
  }
}

private func migrate(
  _ arguments: [String], environment: @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  let (kind, options) = try parse(MigrateCommand.self, arguments).options(environment: environment)
  return try await migrate(
    to: kind, options, keySource: try EncryptedFile.KeySource(options.keySource),
    environment: environment, logger: .kistd(level: options.logLevel))
}

/// Stops at SIGTERM, SIGINT and SIGHUP; with a command they are for that.
///
/// They are taken before the socket is there, so that they are never missed.
func untilToldToStop(_ daemon: Daemon) async throws -> CInt {
  let signals = try Signals.take(forCommand: !daemon.options.command.isEmpty)
  let run = Task { try await daemon.run() }
  signals.whenOneComes { run.cancel() }
  return try await run.value
}

private func report(_ message: String, hint: String?) {
  writeToStandardError(
    "kistd: \(onOneLine(message))\n" + (hint.map { "hint: \(onOneLine($0))\n" } ?? ""))
}
