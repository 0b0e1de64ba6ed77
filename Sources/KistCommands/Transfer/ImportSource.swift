internal import ArgumentParser
internal import KistCore
internal import KistInterop

/// A source for `kist import`.
enum ImportSource: Hashable, Sendable {
  /// A file written by `kist export`.
  case exported
  /// A directory of `pass` or gopass.
  case pass
  /// A file of another program.
  case foreign(ForeignFormat)

  /// Returns its default location, which the program itself uses.
  func usualPlace(_ variable: (String) -> String?) -> String? {
    func value(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
    func home(_ path: String) -> String? { value("HOME").map { "\($0)/\(path)" } }
    switch self {
    case .pass: return value("PASSWORD_STORE_DIR") ?? home(".password-store")
    case .foreign(.netrc): return value("NETRC") ?? home(".netrc")
    case .foreign(.gitCredentials): return home(".git-credentials")
    case .foreign(.docker):
      return value("DOCKER_CONFIG").map { $0 + "/config.json" } ?? home(".docker/config.json")
    case .foreign(.aws): return value("AWS_SHARED_CREDENTIALS_FILE") ?? home(".aws/credentials")
    case .foreign(.cargo):
      return (value("CARGO_HOME") ?? home(".cargo")).map { $0 + "/credentials.toml" }
    case .exported, .foreign: return nil
    }
  }

  /// The part of the file that is no longer needed after a complete import.
  var whatCanGo: String { self == .foreign(.docker) ? "`auths` from it" : "it" }
}

extension ImportSource: ExpressibleByArgument, CaseIterable {
  static var allCases: [ImportSource] {
    [.exported, .pass] + ForeignFormat.allCases.map(ImportSource.foreign)
  }

  init?(argument: String) {
    guard let source = Self.allCases.first(where: { $0.defaultValueDescription == argument }) else {
      return nil
    }
    self = source
  }

  /// Its name on the command line.
  var defaultValueDescription: String {
    switch self {
    case .exported: "kist"
    case .pass: "pass"
    case .foreign(let format): format.rawValue
    }
  }

  static var allValueStrings: [String] { allCases.map(\.defaultValueDescription) }
}

/// The choice for a credential whose name is already stored, or occurs several times in the file.
enum ConflictChoice: String, ExpressibleByArgument, CaseIterable {
  /// Keeps the stored one; takes the first of several in the file.
  case keep
  /// Replaces the stored one; takes the last of several in the file.
  case replace
  /// Imports nothing.
  case fail
}
