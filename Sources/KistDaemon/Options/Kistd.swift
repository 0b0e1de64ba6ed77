internal import ArgumentParser
internal import KistCore
internal import KistServer

/// The flags of kistd as typed; `options(environment:)` interprets them.
struct Kistd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd",
    abstract: "Keep credentials and serve them on a Unix socket.",
    usage: """
      kistd [OPTIONS]
      kistd [OPTIONS] -- COMMAND [ARGUMENT ...]
      kistd migrate [--from KIND] --to KIND [OPTIONS]
      kistd fsck [--salvage DIRECTORY] [OPTIONS]
      kistd probe [OPTIONS]
      kistd keyring-items [OPTIONS]
      kistd rekey [OPTIONS]
      kistd restore FILE [OPTIONS]
      """,
    discussion: """
      With a COMMAND, kistd serves until the command ends, gives it the socket in KIST_SOCKET, and \
      ends with its status.

      Each option except --accept-rollback has an environment variable: --max-connections is \
      KISTD_MAX_CONNECTIONS. The option wins.
      """,
    version: KistVersion.current)

  @Option(
    help: .value(
      "path", "The socket, in a directory of mode 0700; by default where kist looks for it."))
  var socket: String?

  @Option(help: .value("kind", "auto, \(StorageKind.namesInHelp); auto."))
  var storage: String?

  @OptionGroup var store: StoreOptions

  @OptionGroup var strength: WeakOption

  @OptionGroup var use: UseOptions

  @Option(
    help: .value(
      "number", "The clients that are served at once; \(Server.usualMaximumConnections)."))
  var maxConnections: String?

  @Option(
    help: .value(
      "duration",
      "End when nobody has been connected for so long, if the storage opens again by itself."))
  var idleExit: String?

  @Option(
    help: .value(
      "duration", "Lock the encrypted file when no credential was asked for in so long."))
  var lockAfter: String?

  @Option(help: .value("size", "How much of the audit log is kept, such as 64MiB, or off; 16MiB."))
  var audit: String?

  @Flag(help: "Open an encrypted file that is older than the one that kistd last had open.")
  var acceptRollback = false

  @Argument(parsing: .postTerminator, help: "The command to serve for.")
  var command: [String] = []
}

/// The commands of kistd: the first word of a command line that does not serve.
enum KistdCommand: String, CaseIterable {
  case fsck, keyringItems = "keyring-items", migrate, probe, rekey, restore
}

struct UseOptions: ParsableArguments {
  @Option(help: .value("duration", "How long a request may take: 30s, 500ms, 2m; 30s."))
  var deadline: String?

  @Option(help: .value("level", "trace, debug, info, notice, warning, error or critical; info."))
  var logLevel: String?
}

extension ArgumentHelp {
  static func value(_ name: String, _ text: String) -> ArgumentHelp {
    ArgumentHelp(text, valueName: name)
  }
}
