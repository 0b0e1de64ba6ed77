internal import ArgumentParser
internal import Glibc
internal import KistClient
internal import KistSystem
internal import KistWire

/// The options of every command.
struct CommonOptions: ParsableArguments {
  @Flag(help: "Print JSON, one object on a line; errors too.")
  var json = false

  @Option(help: ArgumentHelp("Where kistd listens.", valueName: "path"))
  var socket: String?

  /// Returns the path of kistd's socket: the value of the option, or the default path.
  func socketPath() throws(StorageError) -> String { try location(ofSocket: socket).path }

  /// Returns the functions of that kistd.
  ///
  /// Their requests use one connection, and block the calling thread.
  func kistd(threads: Int = 0, starting: Bool = true) throws(StorageError) -> Endpoints {
    try .kistd(at: socket, threads: threads, starting: starting)
  }
}

private func location(ofSocket path: String?) throws(StorageError) -> SocketLocation {
  if let path { return try SocketLocation(path: path) }
  return try SocketLocation.current()
}

extension Endpoints {
  /// Returns the functions of the kistd at a socket, which is the default one if `nil`.
  ///
  /// If none listens there, the first request finds the one that serves the storage. If there is
  /// none, it starts one, unless `starting` is false.
  static func kistd(
    at socket: String? = nil, threads: Int = 0, starting: Bool = true
  ) throws(StorageError) -> Endpoints {
    let path = try location(ofSocket: socket).path
    let autostart = socket == nil ? Autostart(at: path, on: .live) : nil
    return .remote(
      socketPath: autostart?.servedElsewhere() ?? path, threads: threads,
      orFind: starting ? autostart?.findOnce : autostart?.findRunning)
  }
}

/// The option that turns off prompts.
struct PromptOptions: ParsableArguments {
  @Flag(help: "Do not offer to unlock a locked storage.")
  var noPrompt = false
}

struct ConfirmationOptions: ParsableArguments {
  @Flag(help: "Do not ask for confirmation if only one key slot remains.")
  var yes = false
}

struct WeakOption: ParsableArguments {
  @Flag(help: "Allow a new passphrase of fewer than \(Limits.shortestNewPassphrase) bytes.")
  var weak = false
}

extension TimeSpan {
  /// Reads the value of an option, from a second to 36,500 days; `nil` without one.
  init?(_ text: String?, of option: String) throws(StorageError) {
    guard let text else { return nil }
    self = try TimeSpan(text, of: option, in: .seconds(1)...(.days(36_500)))
  }

  func end(from start: Timestamp) -> Timestamp {
    Timestamp(clamping: start.secondsSinceEpoch + wholeSeconds)
  }
}

/// The options that select credentials; without any, all are selected.
struct QueryOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Only credentials of this service.", valueName: "service"))
  var service: String?

  @Option(help: ArgumentHelp("Only credentials of this account.", valueName: "account"))
  var account: String?

  @Option(
    name: .customLong("attribute"),
    help: ArgumentHelp(
      "Only credentials with this attribute; may be repeated.", valueName: "name=value"))
  var attributes: [String] = []

  /// Whether no option is given, so that all credentials are selected.
  var meansAll: Bool { service == nil && account == nil && attributes.isEmpty }

  func query() throws(StorageError) -> CredentialQuery {
    CredentialQuery(
      service: service, account: account, attributes: try Attributes(options: attributes))
  }
}

extension Attributes {
  /// Reads the values of `--attribute NAME=VALUE`.
  init(options: [String]) throws(StorageError) {
    self.init()
    for option in options {
      guard let separator = option.firstIndex(of: "="), separator > option.startIndex else {
        throw .badRequest("an attribute is not NAME=VALUE")
      }
      let name = String(option[..<separator])
      guard self[name] == nil else { throw .badRequest("an attribute is given twice") }
      self[name] = String(option[option.index(after: separator)...])
    }
  }
}

/// The option that limits which services references may name.
struct OnlyOptions: ParsableArguments {
  @Option(
    name: .customLong("only"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Refuse references to other services; may be repeated.", valueName: "service"))
  var services: [String] = []

  /// Returns the services; throws `badRequest` for one that no reference can name.
  func checked() throws(StorageError) -> [String] {
    guard services.allSatisfy({ !$0.isEmpty && !$0.hasPrefix("kist://") }) else {
      throw .refused(
        "--only: this is not the name of a service",
        hint: "name the service alone, such as `--only db.example`")
    }
    return services
  }
}

/// The option for the key file of the store.
struct KeyFileOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The key file that opens the store; by default $KISTD_KEY_FILE, or kistd's usual one.",
      valueName: "path"))
  var keyFile: String?
}

extension KeySlots {
  /// Adds the key of the key file to each change of key slots that has no passphrase.
  func provedByKeyFile(_ option: KeyFileOption) -> KeySlots {
    KeySlots(
      list: list,
      add: { addition throws(StorageError) in
        var addition = addition
        if addition.current == nil { addition.currentKey = try option.key() }
        return try await add(addition)
      },
      remove: { removal throws(StorageError) in
        var removal = removal
        if removal.current == nil { removal.currentKey = try option.key() }
        return try await remove(removal)
      })
  }
}

extension KeyFileOption {
  /// The value of the option, or the path that kistd uses without options.
  var path: String? { keyFile ?? Host.live.keyFile }

  fileprivate func key() throws(StorageError) -> Secret {
    guard let path else {
      throw .refused(
        "HOME is not set, so that kist cannot find the key file",
        hint: "name the key file that opens the store with `--key-file`")
    }
    let what = "the key file \(path)"
    let file: CInt
    do throws(UnfitFile) { file = try openOwnFile(path, O_RDONLY) } catch {
      throw StorageError(
        error.isMissing ? .badRequest : .denied, "\(what) \(error.clause)",
        hint: "name the key file that opens the store with `--key-file`", outcome: .unchanged)
    }
    return try contents(of: file, upTo: 32, what)
  }
}
