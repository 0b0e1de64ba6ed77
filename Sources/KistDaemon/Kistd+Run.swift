internal import ArgumentParser
internal import Glibc
internal import KistCore
internal import KistFile
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Runs kistd and ends with its exit status: 0 when it was told to stop, 64 for bad options, the number
/// of the error in the protocol's table where it could not serve (7: it is running already), and
/// with a command, that command's.
package func runKistd(_ arguments: [String]) async -> Never {
  exit(await status(of: arguments))
}

private func status(of arguments: [String]) async -> CInt {
  do {
    let previous = try Hardening.apply()
    let environment: @Sendable (String) -> String? = { name in
      unsafe getenv(name).map { unsafe String(cString: $0) }
    }
    let options = try parse(arguments, environment: environment)
    // Before the descriptors of signals, event loops, lock and socket are there.
    let keySource = try EncryptedFile.KeySource(options.keySource)
    let daemon = Daemon(
      options: options, keySource: keySource, environment: environment,
      logger: .kistd(level: options.logLevel), previous: previous)
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

private func parse(_ arguments: [String], environment: (String) -> String?) throws -> Options {
  do { return try Kistd.parse(arguments).options(environment: environment) } catch {
    // Also how `--help` and `--version` end.
    Kistd.exit(withError: error)
  }
}

/// Stops at SIGTERM and SIGINT; with a command they are for that.
///
/// They are asked for before the socket is there, so that they are never missed.
private func untilToldToStop(_ daemon: Daemon) async throws -> CInt {
  guard daemon.options.command.isEmpty else { return try await daemon.run() }
  var quiet = daemon.logger
  quiet.logLevel = .error
  try await ServiceGroup(
    configuration: ServiceGroupConfiguration(
      services: [
        .init(
          service: DaemonService(daemon: daemon),
          successTerminationBehavior: .gracefullyShutdownGroup)
      ],
      gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet)
  ).run()
  return 0
}

private struct DaemonService: Service {
  var daemon: Daemon

  func run() async throws {
    _ = try await cancelWhenGracefulShutdown { try await daemon.run() }
  }
}

private func report(_ message: String, hint: String?) {
  writeToStandardError(
    "kistd: \(onOneLine(message))\n" + (hint.map { "hint: \(onOneLine($0))\n" } ?? ""))
}
