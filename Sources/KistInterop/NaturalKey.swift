package import KistCore

/// Returns the key under which kist keeps the item of a known program; `nil` for any other item.
///
/// `kist import keyring` and the Secret Service adapter use it, so both give an item the same name.
package func naturalKey(ofItemWith attributes: Attributes) -> CredentialKey? {
  KnownItem(attributes)?.key
}

/// An item of a keyring that has the form of a known program.
struct KnownItem: Equatable {
  /// A program, by the attributes that it gives to its items.
  enum Program {
    case git, docker, cargo, pythonKeyring, goKeyring, portal, kist
  }

  /// The schema of docker's own helper for libsecret.
  static let dockerSchema = "io.docker.Credentials"

  let program: Program
  let key: CredentialKey

  /// Recognises an item; `nil` if no known program makes such items, or if its key exceeds a limit.
  init?(_ attributes: Attributes) {
    guard let program = Self.program(of: attributes),
      let key = Self.key(of: program, attributes), key.isWithinLimits
    else { return nil }
    self.program = program
    self.key = key
  }

  private static func program(of attributes: Attributes) -> Program? {
    switch attributes[Attributes.schemaName] {
    case "org.git.Password": .git
    // git's schema before 2.43, which other programs use too, but not with http and https.
    case "org.gnome.keyring.NetworkPassword":
      ["http", "https"].contains(attributes["protocol"]) ? .git : nil
    case dockerSchema: .docker
    case "org.rust-lang.cargo.registry": .cargo
    case Attributes.portalSchema: .portal
    case Attributes.kistSchema: .kist
    default:
      if attributes["application"] == "Python keyring library" {
        .pythonKeyring
      } else {
        isOfGoKeyring(attributes) ? .goKeyring : nil
      }
    }
  }

  /// go-keyring, which gh and other programs in Go use, sets these two attributes and no others.
  private static func isOfGoKeyring(_ attributes: Attributes) -> Bool {
    attributes.sorted.map(\.name).filter { !Attributes.isReserved($0) } == ["service", "username"]
  }

  private static func key(
    of program: Program, _ attributes: Attributes
  ) -> CredentialKey? {
    switch program {
    case .git:
      let message = GitMessage(attributesOfItem: attributes)
      // With a slash in the host, two items could have one key.
      guard let service = message.service, let user = message.username,
        message.host?.utf8.contains(UInt8(ascii: "/")) == false
      else { return nil }
      return CredentialKey(service: service, account: user)
    case .docker:
      return key(attributes["server"], attributes["username"])
    case .cargo:
      return attributes["url"].map { CargoRegistry(indexURL: $0, name: nil).key }
    case .pythonKeyring:
      return key(attributes["service"], attributes["username"] ?? "")
    case .goKeyring:
      return key(attributes["service"], attributes["username"])
    case .portal:
      return key(Attributes.portalSchema, attributes[Attributes.applicationName])
    case .kist:
      return key(attributes["service"], attributes["account"])
    }
  }

  private static func key(_ service: String?, _ account: String?) -> CredentialKey? {
    guard let service, let account else { return nil }
    return CredentialKey(service: service, account: account)
  }

  /// The tool whose own program makes such items.
  var tool: Tool? {
    switch program {
    case .git: .git
    case .docker: .docker
    case .cargo: .cargo
    case .pythonKeyring: .keyring
    case .goKeyring, .portal, .kist: nil
    }
  }
}

/// The user, the tool or the program that a credential belongs to.
enum CredentialOwner: Equatable {
  case user
  /// The tool whose helper saved it, or whose own program stored it through the Secret Service.
  case tool(String)
  /// A program without a helper in kist, which stored it through the Secret Service.
  case otherProgram
}

extension CredentialOwner {
  /// Finds the owner of a credential.
  ///
  /// An item belongs to a tool only under its natural key. Under another one, its names are not
  /// those that the tool gave it.
  init(of key: CredentialKey, _ attributes: Attributes) {
    guard attributes.areOfItem else {
      self = attributes[Attributes.toolName].map { .tool($0) } ?? .user
      return
    }
    guard let item = KnownItem(attributes), item.key == key else {
      self = .otherProgram
      return
    }
    self = item.program == .kist ? .user : item.tool.map { .tool($0.rawValue) } ?? .otherProgram
  }
}

extension CredentialSummary {
  var owner: CredentialOwner { CredentialOwner(of: key, attributes) }
}

extension Attributes {
  /// Whether another program stored the credential with these attributes through the Secret Service.
  ///
  /// The adapter marks such a credential, which has the attributes of the program's item. A
  /// credential with the schema of another program is one, too, even if the user saved it.
  var areOfItem: Bool {
    if self[Self.itemMark] != nil { return true }
    return self[Self.schemaName].map { $0 != Self.kistSchema } ?? false
  }

  /// The name of the attribute with the kind of a keyring's item.
  package static let schemaName = "xdg:schema"
  /// The kind of the items that kist itself saves in a keyring.
  package static let kistSchema = "io.kist.Credential"
}
