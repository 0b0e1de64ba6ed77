package import KistCore

/// The formats of files with credentials that are not kist's own.
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

  /// The most bytes that a file has: 64 MiB, or 1 MiB of those that hold a program's settings.
  package var longestFile: Int {
    switch self {
    case .docker, .aws, .cargo: 1 << 20
    default: 64 << 20
    }
  }

  /// Reads a file; throws what is wrong with it, and where, and never what is in it.
  ///
  /// - Parameter configuration: of cargo, the file that names the registries, if there is one.
  package func read(
    _ text: Secret, configuration: Secret? = nil
  ) throws(StorageError) -> ForeignCredentials {
    if text.beginsAsArchive { throw archive }
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

extension ForeignFormat {
  /// What is said of a file that is in an archive still, as 1Password's export is.
  private var archive: StorageError {
    var error = StorageError.unreadable("it is a ZIP archive")
    error.hint =
      self == .onePassword
      ? "nothing was imported; unpack it: `unzip -p FILE export.data | kist import 1password - --yes`"
      : "nothing was imported; unpack it first"
    return error
  }
}

extension StorageError {
  /// What is wrong with a file that is to be imported.
  static func unreadable(_ problem: String, line: Int) -> StorageError {
    unreadable("line \(line): \(problem)")
  }

  /// What is wrong with a file that is to be imported; of our own words only.
  package static func unreadable(_ problem: String) -> StorageError {
    StorageError(
      .badRequest, "the file cannot be read: \(problem)",
      hint: "nothing was imported; see whether it is of the format that was named",
      outcome: .unchanged)
  }
}
