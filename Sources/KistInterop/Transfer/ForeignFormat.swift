package import KistCore

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

  /// The most bytes of a file: 64 MiB, or 1 MiB for a file with a program's settings.
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
  /// The error for a file that is still in an archive, such as 1Password's export.
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
  /// Returns the error for a file that cannot be imported.
  static func unreadable(_ problem: String, line: Int) -> StorageError {
    unreadable("line \(line): \(problem)")
  }

  /// Returns the error for a file that cannot be imported; `problem` contains no text of the file.
  package static func unreadable(_ problem: String) -> StorageError {
    StorageError(
      .badRequest, "the file cannot be read: \(problem)",
      hint: "nothing was imported; see whether it is of the format that was named",
      outcome: .unchanged)
  }
}
