package import KistCore

extension Tool {
  /// The function that answers a call; `nil` for cargo, which sends several lines: `answerCargo`.
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
