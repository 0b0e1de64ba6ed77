internal import ArgumentParser
internal import Glibc
internal import KistBus
internal import KistClient
internal import KistCore
internal import KistSecretService
internal import KistWire

/// The flags of kist-secret-service.
struct SecretServiceOptions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kist-secret-service",
    abstract: "Serve the credentials of kistd as the Secret Service on the session bus.",
    version: KistVersion.current)

  @Option(help: ArgumentHelp("The socket of kistd.", valueName: "path"))
  var socket: String?

  @Option(
    help: ArgumentHelp(
      "End after this time without a call, if no program has a session.", valueName: "time"))
  var idleExit: String?

  @Option(
    help: ArgumentHelp(
      "How long a prompt waits for `kist unlock`; by default it is dismissed at once.",
      valueName: "time"))
  var waitForUnlock: String?
}

/// Serves the Secret Service with this process's command line, on the main thread.
package func startSecretService() -> Never {
  let options = SecretServiceOptions.parseOrExit()
  do throws(StorageError) {
    let bus: Bus
    do throws(BusError) { bus = try Bus() } catch {
      throw StorageError(
        .unavailable, "cannot connect to the session bus: \(error.message)",
        hint: "start this program on a session bus, for example with dbus-run-session")
    }
    let idleExit = try duration(options.idleExit, of: "--idle-exit")
    let path =
      if let socket = options.socket { socket } else { try SocketLocation.current().path }
    let reason = try serveSecretService(
      on: bus, try functions(socketPath: path, options, bus), machine: machineKey(),
      idleExit: idleExit
    ) { reason in
      if let reason { end(reason) }
      exit(0)
    }
    throw StorageError(.unavailable, "the session bus ended: \(reason.message)")
  } catch { end(error) }
}

/// Returns what the service needs, from the kistd at a socket.
private func functions(
  socketPath: String, _ options: SecretServiceOptions, _ bus: Bus
) throws(StorageError) -> SecretService.Functions {
  let patience = try duration(options.waitForUnlock, of: "--wait-for-unlock")
  // Programs on the bus wait 25 seconds for a reply, so the true error must arrive before that.
  let kistd = Endpoints.remote(
    socketPath: socketPath, threads: 4, deadline: .seconds(20), onBehalfOf: { Caller.program })
  return SecretService.Functions(
    storage: kistd.credentials, access: kistd.access, watch: kistd.watch,
    asking: patience.map { .waiting(for: $0, kistd.access, bus) } ?? .nobody)
}

/// Returns the value of an option, from 1 ms to 365 days; `nil` if the option was not given.
private func duration(
  _ text: String?, of option: String
) throws(StorageError) -> Duration? {
  guard let text else { return nil }
  let span = try TimeSpan(text, of: option, in: .milliseconds(1)...(.days(365)))
  return .milliseconds(span.milliseconds)
}

/// Returns bytes that make the paths of items differ from machine to machine.
private func machineKey() -> [UInt8] {
  machineIdentifier() ?? (0..<16).map { _ in UInt8.random(in: .min ... .max) }
}

extension Asking {
  /// Asks nobody, and waits until the storage was unlocked elsewhere.
  fileprivate static func waiting(
    for time: Duration, _ access: StorageAccess, _ bus: Bus
  ) -> Asking {
    Asking(canAsk: { true }) { _ in
      let end = ContinuousClock.now + time
      while ContinuousClock.now < end {
        await bus.sleep(for: .milliseconds(250))
        if let status = try? await access.status(), !status.isLocked { return .unlocked }
      }
      return .dismissed
    }
  }
}

/// Ends the process with the reason.
private func end(_ error: StorageError) -> Never {
  var text = "kist-secret-service: \(error.message)\n"
  if let hint = error.hint { text += "hint: \(hint)\n" }
  let bytes = Array(text.utf8)
  _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
  exit(error.code.exitStatus)
}
