package import KistCore

/// The credentials in a file of another program.
package struct ForeignCredentials: Sendable {
  /// One credential, and its place in the file.
  package struct Entry: Sendable {
    package var credential: NewCredential
    /// The number of its first line, or of its entry; counted from 1.
    package var place: Int
  }

  /// The credentials to import, in the order of the file.
  package private(set) var entries: [Entry] = []
  /// The parts that are not imported, with their places.
  package private(set) var leftOut: [LeftOut: [Int]] = [:]
  /// Whether the end of the file may be missing: it does not have the number of its credentials.
  package var mayBeCut = false
  /// The kind of a place, such as `line`.
  package let unit: String
  private var names: [Int: String]
  /// Whether the file contains whole credentials, whose labels, attributes and expiry are compared.
  package let isComplete: Bool
  /// Whether its program uses the first match; other programs use the latest.
  package let firstIsTaken: Bool

  package init(
    countedBy unit: String = "line", named names: [String] = [], isComplete: Bool = false,
    firstIsTaken: Bool = false
  ) {
    self.unit = unit
    self.names = Dictionary(uniqueKeysWithValues: zip(1..., names))
    self.isComplete = isComplete
    self.firstIsTaken = firstIsTaken
  }

  /// The maximum number of credentials in a file.
  package static let most = 100_000

  /// Adds a credential; leaves out its label, or the credential, if it exceeds the limits.
  ///
  /// Throws `tooLarge` if there are too many.
  package mutating func add(_ credential: NewCredential, at place: Int) throws(StorageError) {
    guard entries.count < Self.most else { throw .tooManyForeign }
    var credential = credential
    if !isComplete, !credential.isWithinLimits { credential.label = nil }
    guard credential.isWithinLimits else { return leaveOut(.overLimits, at: place) }
    entries.append(Entry(credential: credential, place: place))
  }

  /// Adds an entry of `pass` or gopass: pass(1).
  ///
  /// The password is the first line. For `web/github.com/alice` the account is `alice`, and the
  /// service is the part before it. A key in PEM (RFC 7468) is imported whole.
  ///
  /// - Parameter name: The path of its file in the store, without `.gpg`.
  package mutating func addPassEntry(
    _ name: String, _ content: Secret, at place: Int
  ) throws(StorageError) {
    let newline = content.withBytes { $0.firstOffset(of: UInt8(ascii: "\n"), from: 0) }
    let end = newline ?? content.count
    let first = content.part(0..<end).withNewline.withoutNewline
    let isKey = first.withBytes { $0.hasPrefix("-----BEGIN ") }
    let password = isKey ? content : first
    guard !password.isEmpty else { return leaveOut(.withoutPassword, at: place) }
    guard !password.withBytes({ $0.hasPrefix("otpauth://") }) else {
      return leaveOut(.oneTimePassword, at: place)
    }
    var path = name.split(separator: "/")
    let account = path.count > 1 ? String(path.removeLast()) : ""
    let key = CredentialKey(service: path.joined(separator: "/"), account: account)
    try add(NewCredential(key: key, secret: password), at: place)
    if end + 1 < content.count, !isKey { leaveOut(.furtherFields, at: place) }
  }

  /// Returns the name of a place for the user; `nil` if it has only a number.
  package func name(of place: Int) -> String? { names[place] }

  package mutating func leaveOut(_ what: LeftOut, at place: Int, named name: String? = nil) {
    leftOut[what, default: []].append(place)
    if let name, !name.isEmpty { names[place] = name }
  }
}

/// The parts of a file that are not imported.
package enum LeftOut: String, CaseIterable, Sendable {
  case repeated, withoutPassword, withoutAccessKey, notALogin, keptElsewhere, ofNoHost
  case unknownRegistry, misplaced, archived, overLimits, locked, ofUnknownProgram, unreadable
  case unreadableName
  case linkedFolder, deepFolder
  case note, oneTimePassword, passkey, formerPasswords, furtherURLs, furtherFields, macro

  /// The description for the user.
  package var words: String {
    switch self {
    case .repeated: "repeated entries"
    case .withoutPassword: "entries without a password"
    case .withoutAccessKey: "entries without an access key"
    case .notALogin: "entries other than logins"
    case .keptElsewhere: "entries that another credential helper keeps"
    case .ofNoHost: "entries for any host"
    case .unknownRegistry: "tokens for registries with an unknown index"
    case .misplaced: "entries at a place where their program does not look"
    case .archived: "archived entries"
    case .overLimits: "entries with a name or a secret that kist cannot keep"
    case .locked: "entries in a locked keyring"
    case .ofUnknownProgram: "entries of programs that kist does not know"
    case .unreadable: "entries that could not be decrypted"
    case .unreadableName: "entries with a name that is not UTF-8"
    case .linkedFolder: "symbolic links to folders"
    case .deepFolder: "folders that are nested too deep"
    case .note: "notes"
    case .oneTimePassword: "seeds of one-time passwords"
    case .passkey: "passkeys"
    case .formerPasswords: "former passwords"
    case .furtherURLs: "further URLs"
    case .furtherFields: "further fields"
    case .macro: "macros"
    }
  }
}

/// The formats of other programs' credential files.
package enum ForeignFormat: String, CaseIterable, Sendable {
  case netrc
  case gitCredentials = "git-credentials"
  case docker
  case aws
  case cargo
  case bitwarden
  case onePassword = "1password"
  case keepassxc
  case chrome
  case firefox
  case keyring

  /// The maximum size of a file in bytes: 64 MiB, or 1 MiB for a file with a program's settings.
  package var longestFile: Int {
    switch self {
    case .docker, .aws, .cargo: 1 << 20
    default: 64 << 20
    }
  }

  /// Reads a file.
  ///
  /// Errors contain the problem and its place, but never contents of the file.
  ///
  /// - Parameter configuration: For cargo, the file that names the registries, if there is one.
  package func read(
    _ text: Secret, configuration: Secret? = nil
  ) throws(StorageError) -> ForeignCredentials {
    // A ZIP archive with files begins so: APPNOTE.TXT, 4.3.7.
    if text.withBytes({ $0.hasPrefix("PK\u{3}\u{4}") }) {
      var error = StorageError.unreadable("it is a ZIP archive")
      error.hint =
        self == .onePassword
        ? "nothing was imported; unpack it: `unzip -p FILE export.data | kist import 1password - --yes`"
        : "nothing was imported; unpack it first"
      throw error
    }
    return switch self {
    case .netrc: try netrcCredentials(in: text)
    case .gitCredentials: try gitStoreCredentials(in: text)
    case .docker: try dockerCredentials(in: text)
    case .aws: try awsCredentials(in: text)
    case .cargo: try cargoCredentials(in: text, configuration: configuration)
    case .bitwarden:
      text.beginsAsJSON
        ? try bitwardenCredentials(in: text) : try credentials(in: text, of: .bitwarden)
    case .onePassword:
      text.beginsAsJSON
        ? try onePasswordCredentials(in: text) : try credentials(in: text, of: .onePassword)
    case .keepassxc: try credentials(in: text, of: .keepassxc)
    case .chrome: try credentials(in: text, of: .chrome)
    case .firefox: try credentials(in: text, of: .firefox)
    case .keyring: try keyringCredentials(in: text)
    }
  }
}

extension StorageError {
  /// The error for a file with more credentials than the limit.
  package static var tooManyForeign: StorageError {
    .refused(
      "the file has more than \(ForeignCredentials.most) credentials", as: .tooLarge,
      hint: "nothing was imported; split the file")
  }

  static func unreadable(_ problem: String, line: Int) -> StorageError {
    unreadable("line \(line): \(problem)")
  }

  /// Returns the error for a file that cannot be imported; `problem` contains no text of the file.
  package static func unreadable(_ problem: String) -> StorageError {
    .refused(
      "the file cannot be read: \(problem)",
      hint: "nothing was imported; check that the file has the format that you named")
  }
}
