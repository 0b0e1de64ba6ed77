internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Save: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "Save a credential, replacing an existing one.",
    usage: "kist save [<service> [<account>]] [options]",
    discussion: """
      Reads the secret from standard input, or asks for it at a hidden prompt, and drops one \
      newline at its end. At a terminal, without arguments, it also asks for service and account.

        printf %s "$TOKEN" | kist save github.com alice --expires-in 90d
      """)

  @OptionGroup var target: AskedKeyArguments

  @Option(help: ArgumentHelp("A label for people to read.", valueName: "text"))
  var label: String?

  @Option(
    name: .customLong("attribute"),
    help: ArgumentHelp("A property to search by; may be repeated.", valueName: "name=value"))
  var attributes: [String] = []

  @OptionGroup var expiry: ExpiryOptions
  @OptionGroup var requirement: ConditionOptions
  @OptionGroup var source: SecretOptions
  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    // Reads everything else first, so that no user types a secret for a command that fails.
    let condition = try requirement.condition()
    let attributes = try Attributes(options: attributes)
    let expiresAt = try expiry.moment(from: terminal.now())
    if terminal.inputIsTerminal { try await storage.checkIsOpen() }
    var credential = NewCredential(
      key: try target.key(askingAt: terminal), secret: Secret(utf8: ""), label: label,
      attributes: attributes, expiresAt: expiresAt)
    if terminal.inputIsTerminal { try await storage.checkTakes(credential, if: condition) }
    credential.secret = try source.secret(from: terminal)
    let saved = try await storage.save(credential, if: condition)
    let end = saved.isExpired(at: terminal.now()) ? ", and has expired already" : ""
    try terminal.reportSuccess(
      "saved at revision \(saved.revision.rawValue)\(end)", or: saved.json(), asJSON: common.json)
  }
}
