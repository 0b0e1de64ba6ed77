internal import ArgumentParser
internal import KistCore
internal import KistServer
internal import Logging

/// The flags of kistd as typed; `options(environment:)` interprets them.
struct Kistd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd",
    abstract: "Keep credentials and serve them on a Unix socket.",
    usage: """
      kistd [OPTIONS]
      kistd [OPTIONS] --detach
      kistd [OPTIONS] -- COMMAND [ARGUMENT ...]
      kistd migrate [--from KIND] --to KIND [OPTIONS]
      kistd fsck [--salvage DIRECTORY] [OPTIONS]
      kistd probe [OPTIONS]
      kistd keyring-items [OPTIONS]
      kistd rekey [OPTIONS]
      kistd restore FILE [OPTIONS]
      kistd key-file add [OPTIONS]
      kistd vault ACTION [WORD] [ACCOUNT] [OPTIONS]
      """,
    discussion: """
      kistd runs COMMAND with the path of the socket in KIST_SOCKET. It serves until COMMAND ends, \
      and ends with the status of COMMAND.

      Each option has an environment variable, for example KISTD_MAX_CONNECTIONS for \
      --max-connections, except --accept-rollback, --detach, --version and --help. The option takes \
      precedence.
      """,
    version: KistVersion.current)

  @Option(
    help: .value(
      "path", "The socket, in a directory of mode 0700; by default where kist looks for it."))
  var socket: String?

  @Option(
    help: .value("kind", "The storage: auto, \(StorageKind.namesInHelp) (default: auto)."),
    completion: .list(StorageKind.namesOfOption))
  var storage: String?

  @OptionGroup var store: StoreOptions

  @OptionGroup var vault: VaultOptions

  @OptionGroup var strength: WeakOption

  @OptionGroup var use: UseOptions

  @Option(
    help: .value(
      "number",
      "The number of clients to serve at once (default: \(Server.usualMaximumConnections))."))
  var maxConnections: String?

  @Option(
    help: .value(
      "duration",
      "End after this time without a client, if the storage can open again unattended."))
  var idleExit: String?

  @Option(
    help: .value(
      "duration", "Lock the encrypted file after this time without a request for a credential."))
  var lockAfter: String?

  @Option(
    help: .value("size", "The size of the audit log, such as 64MiB, or off (default: 16MiB)."))
  var audit: String?

  @Flag(help: "Open the encrypted file even if it is older than the one that kistd last had open.")
  var acceptRollback = false

  @Flag(help: "Return when kistd serves; it continues in the background, without the terminal.")
  var detach = false

  @Argument(parsing: .postTerminator, help: "The command to run while kistd serves.")
  var command: [String] = []
}

/// The subcommands of kistd; with one of these as its first argument, kistd does not serve.
enum KistdCommand: String, CaseIterable {
  case fsck, keyFile = "key-file", keyringItems = "keyring-items", migrate, probe, rekey, restore
  case vault
}

struct UseOptions: ParsableArguments {
  @Option(
    help: .value("duration", "How long a request may take, such as 500ms or 2min (default: 30s)."))
  var deadline: String?

  @Option(
    help: .value(
      "level",
      "The log level: trace, debug, info, notice, warning, error or critical (default: info, with a COMMAND warning)."
    ), completion: .list(Logger.Level.allCases.map(\.rawValue)))
  var logLevel: String?
}

struct JSONOption: ParsableArguments {
  @Flag(help: "Print JSON, one object on a line; errors too.")
  var json = false
}

extension ArgumentHelp {
  static func value(_ name: String, _ text: String) -> ArgumentHelp {
    ArgumentHelp(text, valueName: name)
  }
}
