public import KistClient

/// Puts a version of a program on a server, with a token that kist keeps.
///
/// It knows one credential and two things to do with it, each of which is a function: where they come from is
/// decided by `main.swift`, and in a test by the test.
public struct Deployment: Sendable {
  private let token: UserCredential
  private let upload: @Sendable (_ version: String, _ token: Secret) async throws -> Void

  /// - Parameters:
  ///   - storage: where the token is; its key is frozen in here, so that nothing below can ask for another one.
  ///   - upload: what needs the token.
  public init(
    storage: UserStorage,
    upload: @escaping @Sendable (_ version: String, _ token: Secret) async throws -> Void
  ) {
    token = storage.bound(to: CredentialKey(service: "deploy.example.org", account: "ci"))
    self.upload = upload
  }

  /// What became of it.
  public enum Outcome: Equatable, Sendable {
    case deployed
    /// Nothing was uploaded; what a person is to do about it.
    case postponed(String)
  }

  /// Uploads a version; locked, missing and unreachable are three different answers.
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
