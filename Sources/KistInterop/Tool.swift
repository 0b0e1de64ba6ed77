/// The tools that kist helps, by the names that they have in `kist helper TOOL`.
package enum Tool: String, CaseIterable, Sendable {
  case git
  case docker
  case cargo
  case aws
  case kubectl
  case terraform
  case keyring
  case askpass

  /// What a tool calls its helper, where it calls it by a name of the tool's choice.
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

  /// The tool that calls its helper so.
  package init?(program: String) {
    guard let tool = Self.allCases.first(where: { $0.program == program }) else { return nil }
    self = tool
  }
}
