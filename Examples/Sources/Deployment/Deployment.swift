public import KistClient

/// Uploads a version of a program to a server, with a token that kist stores.
///
/// It uses one credential and two functions: one loads the token, and one uploads. `main.swift` or
/// a test provides them.
public struct Deployment: Sendable {
  private let token: UserCredential
  private let upload: @Sendable (_ version: String, _ token: Secret) async throws -> Void

  /// - Parameters:
  ///   - storage: the storage with the token. Its key is fixed here, so no other one can be loaded.
  ///   - upload: uploads a version with the token.
  public init(
    storage: UserStorage,
    upload: @escaping @Sendable (_ version: String, _ token: Secret) async throws -> Void
  ) {
    token = storage.bound(to: CredentialKey(service: "deploy.example.org", account: "ci"))
    self.upload = upload
  }

  /// The result of a deployment.
  public enum Outcome: Equatable, Sendable {
    case deployed
    /// Nothing was uploaded; the text tells the user what to do.
    case postponed(String)
  }

  /// Uploads a version.
  ///
  /// Handles a missing token and a locked storage; throws all other errors.
  public func deploy(_ version: String) async throws -> Outcome {
    let secret: Secret
    do throws(StorageError) { secret = try await token.load() } catch {
      switch error.code {
      case .notFound:
        return .postponed("there is no token: `kist save deploy.example.org ci`")
      case .expired: return .postponed("the token has expired: save a new one")
      case .locked: return .postponed("the storage is locked: `kist unlock`")
      default: throw error
      }
    }
    try await upload(version, secret)
    return .deployed
  }
}
