package import KistCore

extension Tool {
  /// What answers one call of the tool; `nil` for cargo, which says line after line: `answerCargo`.
  package var answer: (@Sendable (HelperCall, UserStorage) async -> HelperAnswer)? {
    switch self {
    case .git: answerGit
    case .docker: answerDocker
    case .cargo: nil
    case .aws: answerAWS
    case .kubectl: answerKubectl
    case .terraform: answerTerraform
    case .keyring: answerKeyring
    case .askpass: answerAskpass
    }
  }
}
