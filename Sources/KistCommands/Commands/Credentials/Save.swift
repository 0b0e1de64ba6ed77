internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Save: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "Save a credential, or a new secret of an existing one.",
    usage: "kist save [<service> [<account>]] [options]",
    discussion: """
      Reads the secret from standard input, or asks for it at a hidden prompt. Removes the newline \
      of a single line; saves several lines exactly. An existing credential keeps its label, \
      attributes and expiry unless you give new ones. At a terminal, without arguments, kist also \
      asks for service and account.

        printf %s "$TOKEN" | kist save \\
          github.com alice --expires-in 90d
        kist save deploy.example key \\
          < ~/.ssh/id_deploy
      """)

  @OptionGroup var target: OptionalKeyArguments

  @Option(help: ArgumentHelp("A label for people to read.", valueName: "text"))
  var label: String?

  @Option(
    name: .customLong("attribute"),
    help: ArgumentHelp("A property to search by; may be repeated.", valueName: "name=value"))
  var attributes: [String] = []

  @OptionGroup var expiry: ExpiryOptions
  @OptionGroup var keeping: KeepOptions
  @OptionGroup var requirement: ConditionOptions
  @OptionGroup var source: SecretOptions
  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    // Checks everything else first, so that the user does not type a secret in vain.
    let now = terminal.now()
    let condition = try requirement.condition()
    let attributes = try Attributes(options: attributes)
    if attributes.sorted.contains(where: { Attributes.isReserved($0.name) }) {
      throw .badRequest(
        "names of attributes that begin with kist: are reserved for kist",
        hint: "choose another name; `kist save` keeps the reserved attributes that a credential has"
      )
    }
    let expiresAt = try expiry.moment(from: now)
    let keep = try keeping.fields(besides: label, expiresAt, condition)
    try source.check()
    if terminal.inputIsTerminal { try await storage.checkIsOpen() }
    let credential = NewCredential(
      key: try target.key(askingAt: terminal), secret: Secret(utf8: ""), label: label,
      attributes: attributes, expiresAt: expiresAt)
    var request = SaveRequest(credential: credential, condition: condition, keep: keep)
    var stored: CredentialSummary?
    if terminal.inputIsTerminal || terminal.outputIsTerminal {
      stored = try await storage.checkTakes(request, at: now)
      if terminal.inputIsTerminal, let stored, try source.confirm(replacing: stored, at: terminal) {
        request.condition = .ifRevision(stored.revision)
      }
    }
    request.credential.secret = try source.secret(from: terminal)
    let saved = try await storage.save(request)
    let replaced = stored.map { stored in
      ", replacing \(stored.isExpired(at: now) ? "the expired " : "")revision "
        + stored.revision.rawValue
    }
    let end = saved.isExpired(at: terminal.now()) ? ", and has expired already" : ""
    try terminal.reportSuccess(
      "saved at revision \(saved.revision.rawValue)\(replaced ?? "")\(end)", or: saved.json(),
      asJSON: common.json)
  }
}
