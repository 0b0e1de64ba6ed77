internal import ArgumentParser
internal import CLinux
internal import Glibc
internal import KistBus
internal import KistClient
internal import KistCore
internal import KistSecretService
internal import KistSystem
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
      "How long a prompt waits for `kist unlock` if no window can ask; by default it is dismissed at once.",
      valueName: "time"))
  var waitForUnlock: String?

  @Option(
    help: ArgumentHelp(
      "The pinentry that asks for the passphrase; by default the one on PATH.",
      valueName: "program"))
  var pinentry: String?
}

/// Serves the Secret Service with this process's command line, on the main thread.
package func startSecretService() -> Never {
  hardenProcess()
  do throws(StorageError) {
    let options = try parse(try CommandLine.words())
    let path =
      if let socket = options.socket { socket } else { try SocketLocation.current().path }
    let bus: Bus
    do throws(BusError) { bus = try Bus() } catch {
      throw StorageError(
        .unavailable, "cannot connect to the session bus: \(error.message)",
        hint: "start this program on a session bus, for example with dbus-run-session")
    }
    let idleExit = try duration(options.idleExit, of: "--idle-exit")
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

/// Parses the command line; `--help` and `--version` end the process here.
///
/// The error does not repeat a refused argument.
private func parse(_ words: [String]) throws(StorageError) -> SecretServiceOptions {
  do { return try SecretServiceOptions.parse(words) } catch {
    if SecretServiceOptions.exitCode(for: error).isSuccess {
      SecretServiceOptions.exit(withError: error)
    }
    let message = SecretServiceOptions.message(for: error)
    throw .badRequest(
      // The parser has no error type for an unexpected argument.
      message.contains("nexpected argument")
        ? "unexpected argument" : message.prefix(1).lowercased() + message.dropFirst(),
      hint: "`kist-secret-service --help` shows the options")
  }
}

/// Protects the secrets in the memory of this process.
///
/// Prevents core files, debuggers of the same user, and crash reports of Swift's runtime, which
/// would print registers and memory. libgcrypt may lock as much memory as the hard limit allows, and
/// programs may send as many file descriptors.
private func hardenProcess() {
  kist_set_dumpable(0)
  kist_default_crash_signals()
  var limit = rlimit()
  unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
  limit.rlim_cur = 0
  unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
  unsafe getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
  limit.rlim_cur = limit.rlim_max
  unsafe setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
  unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  limit.rlim_cur = limit.rlim_max
  unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// Returns what the service needs, from the kistd at a socket.
private func functions(
  socketPath: String, _ options: SecretServiceOptions, _ bus: Bus
) throws(StorageError) -> SecretService.Functions {
  let patience = try duration(options.waitForUnlock, of: "--wait-for-unlock")
  // Programs on the bus wait 25 seconds for a reply, so the true error must arrive before that.
  let kistd = Endpoints.remote(
    socketPath: socketPath, threads: 4, deadline: .seconds(20), onBehalfOf: { Caller.program },
    waiting: { await bus.waitToRead($0, until: $1) })
  let prompts = UserPrompts(
    bus, kistd.access, pinentry: try pinentry(options.pinentry), patience: patience)
  return SecretService.Functions(
    storage: kistd.credentials, access: kistd.access, watch: kistd.watch, asking: Asking(prompts))
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

/// Returns the pinentry of the option; by default the one on PATH, if there is one.
private func pinentry(_ name: String?) throws(StorageError) -> Pinentry? {
  if let program = runnablePath(of: name ?? "pinentry") { return Pinentry(program: program) }
  guard name != nil else { return nil }
  throw StorageError(
    .badRequest, "the program of --pinentry does not exist, or cannot be run",
    hint: "give its path, or its name if it is on PATH")
}

/// Ends the process with the reason.
private func end(_ error: StorageError) -> Never {
  var text = "kist-secret-service: \(visible(error.message))\n"
  if let hint = error.hint { text += "hint: \(visible(hint))\n" }
  let bytes = Array(text.utf8)
  _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
  exit(error.code.exitStatus)
}
