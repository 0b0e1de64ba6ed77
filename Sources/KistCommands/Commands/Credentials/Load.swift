internal import ArgumentParser
internal import KistClient
internal import KistInterop
internal import KistWire

struct Load: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "Print the secret of a credential, byte for byte.",
    usage: "kist load [<service> [<account>]] [options]",
    discussion: """
      On a terminal, kist adds a newline. With --attribute, prints the secret of the only \
      credential that matches, and fails if there are several.

        PGPASSWORD=$(kist load db alice) \\
          psql -U alice
        kist load \\
          --attribute application=vivaldi
      """)

  @OptionGroup var target: OptionalKeyArguments

  @Option(
    name: .customLong("attribute"),
    help: ArgumentHelp(
      "Load the only credential with this attribute; may be repeated.", valueName: "name=value"))
  var attributes: [String] = []

  @Flag(help: "Load it even if it has expired.")
  var allowExpired = false

  // Takes the next word as the value even if it begins with a dash. So `--min-remaining -1d` fails
  // as an invalid time, not as a missing value.
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Load it only if it stays valid for at least this time.", valueName: "time"))
  var minRemaining: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "With a shared vault: load it only if the copy was confirmed at most this time ago.",
      valueName: "time"))
  var maxStale: String?

  @Flag(help: "With a shared vault: confirm first that the copy has the newest change.")
  var fresh = false

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    if allowExpired && minRemaining != nil {
      throw .badRequest("--allow-expired and --min-remaining cannot be combined")
    }
    if fresh && maxStale != nil {
      throw .badRequest("--fresh and --max-stale cannot be combined")
    }
    let stale = try TimeSpan(maxStale, of: "--max-stale")
    let remaining = try TimeSpan(minRemaining, of: "--min-remaining")
    let attributes = try Attributes(options: attributes)
    let key =
      attributes.isEmpty
      ? try target.key() : try await storage.onlyKey(matching: target.query(attributes))
    let request = LoadRequest(
      key: key, allowExpired: allowExpired, maxStale: fresh ? 0 : stale?.wholeSeconds)
    let credential: Credential
    do throws(StorageError) { credential = try await storage.load(request) } catch {
      guard error.code == .notFound else { throw error }
      let nearby = try? await storage.nearby(request.key) { line("kist load", $0) }
      throw (nearby ?? nil) ?? error
    }
    if let remaining, let moment = credential.summary.expiresAt,
      moment < remaining.end(from: terminal.now())
    {
      throw StorageError(
        .expired, "the credential expires too soon, at \(moment)",
        hint: "save a new one, or give a shorter `--min-remaining`")
    }
    if common.json { return try terminal.writeJSON(credential.json()) }
    let secret = credential.secret
    try terminal.writeBytes(terminal.outputIsTerminal ? secret.withNewline : secret)
  }
}

extension UserStorage {
  /// Returns the key of the only credential that matches; otherwise throws an error.
  ///
  /// If several match, the error names them.
  fileprivate func onlyKey(
    matching query: CredentialQuery
  ) async throws(StorageError) -> CredentialKey {
    let keys = try await findAll(query).map(\.key).sorted()
    guard let first = keys.first else { throw .notFound }
    guard keys.count > 1 else { return first }
    let names = keys.map {
      $0.account.isEmpty
        ? shortened($0.service) : "\(shortened($0.service)) \(shortened($0.account))"
    }
    throw StorageError(
      .conflict, "\(keys.count) credentials match: \(beginning(of: names))",
      hint: "name one of them: `\(line("kist load", first))`")
  }
}

extension Load {
  /// Reads the arguments `load SERVICE [ACCOUNT]` quickly, for scripts; `nil` for any others.
  ///
  /// The argument parser gives the same result. But it first prepares all commands and options,
  /// which takes as long as the rest of a load.
  static func plainLine(_ arguments: [String]) -> Load? {
    guard arguments.first == "load", (2...3).contains(arguments.count),
      !arguments.contains(where: { $0.hasPrefix("-") })
    else { return nil }
    // Sets every property, because reading one that is not set traps.
    var load = Load()
    load.target = OptionalKeyArguments()
    load.target.service = arguments[1]
    load.target.account = arguments.count == 3 ? arguments[2] : ""
    load.attributes = []
    load.allowExpired = false
    load.minRemaining = nil
    load.maxStale = nil
    load.fresh = false
    load.prompting = PromptOptions()
    load.prompting.noPrompt = false
    load.common = CommonOptions()
    load.common.json = false
    load.common.socket = nil
    return load
  }
}
