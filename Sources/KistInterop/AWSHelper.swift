package import KistCore
internal import KistJSON

/// Answers with AWS credentials, by the name in a profile.
///
/// See AWS SDKs and Tools Reference Guide, "Process credential provider".
///
/// The secret access key is stored as `aws:NAME` with the access key id as its account. A session
/// token is stored as `aws-session-token:NAME`.
package func answerAWS(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  do throws(StorageError) {
    let name = try call.words("NAME")[0]
    let service = AWSKeys.key(of: name, id: "").service
    guard let key = try await storage.newest(of: service, for: .aws, at: call.now()) else {
      throw .notFound(keptAs: "aws:NAME", with: "ACCESS_KEY_ID")
    }
    let id = key.summary.key.account
    guard !id.isEmpty else {
      throw .badRequest(
        "the credential has no account, which must be the access key id",
        hint: "save it again: `kist save aws:NAME ACCESS_KEY_ID`")
    }
    let token = try await storage.usable(AWSKeys.token(of: name, id: id), for: .aws)
    return try .json { writer throws(StorageError) in
      writer.member("Version", 1)
      writer.member("AccessKeyId", id)
      try writer.member("SecretAccessKey", text: key)
      try writer.member("SessionToken", text: token)
      writer.member("Expiration", [key, token].compactMap { $0?.summary.expiresAt }.min())
    }
  } catch {
    return .failed(error)
  }
}

/// The names under which AWS credentials are stored.
enum AWSKeys {
  static func key(of name: String, id: String) -> CredentialKey {
    CredentialKey(service: "aws:" + name, account: id)
  }

  static func token(of name: String, id: String) -> CredentialKey {
    CredentialKey(service: "aws-session-token:" + name, account: id)
  }
}
