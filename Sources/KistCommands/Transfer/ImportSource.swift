internal import ArgumentParser
internal import KistCore
internal import KistInterop

/// What `kist import` reads.
enum ImportSource: Hashable, Sendable {
  /// What `kist export` wrote.
  case exported
  /// A folder of `pass` or gopass.
  case pass
  /// A file of another program's.
  case foreign(ForeignFormat)

  /// Where it is, unless the command line says so: what the program itself takes.
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

  /// What of a file is needed no more once all of it was taken.
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

/// What becomes of a credential where another one of its name is stored, or is in the file.
enum ConflictChoice: String, ExpressibleByArgument, CaseIterable {
  /// What is there stays, and of several in the file the first is taken.
  case keep
  /// What is there is replaced, and of several in the file the last is taken.
  case replace
  /// Nothing is imported.
  case fail
}
