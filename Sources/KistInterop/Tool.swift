/// The supported tools, by their names in `kist helper TOOL`.
package enum Tool: String, CaseIterable, Sendable {
  case git
  case docker
  case cargo
  case aws
  case kubectl
  case terraform
  case keyring
  case askpass

  /// The name of the helper program, if the tool prescribes one.
  package var program: String? {
    switch self {
    case .git: "git-credential-kist"
    case .docker: "docker-credential-kist"
    case .cargo: "cargo-credential-kist"
    case .terraform: "terraform-credentials-kist"
    case .keyring: "keyring"
    case .askpass: "kist-askpass"
    case .aws, .kubectl: nil
    }
  }

  /// Returns the tool whose helper program has this name.
  package init?(program: String) {
    guard let tool = Self.allCases.first(where: { $0.program == program }) else { return nil }
    self = tool
  }
}
