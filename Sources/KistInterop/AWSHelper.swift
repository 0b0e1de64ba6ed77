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
    let key = try await newest(
      of: AWSKeys.service(of: name), for: .aws, now: call.now(), find: storage.find,
      load: storage.load)
    guard let key else { throw .notFound(keptAs: "aws:NAME", with: "ACCESS_KEY_ID") }
    let id = key.summary.key.account
    guard !id.isEmpty else {
      throw StorageError(
        .badRequest, "the credential has no account, which is the access key id",
        hint: "save it again: `kist save aws:NAME ACCESS_KEY_ID`")
    }
    let token = try await usable(AWSKeys.token(of: name, id: id), for: .aws, storage.load)
    return .done(try awsDocument(key: key, token: token))
  } catch {
    return .failed(error)
  }
}

private func awsDocument(key: Credential, token: Credential?) throws(StorageError) -> Secret {
  try key.secret.requireText()
  try token?.secret.requireText()
  let expiry = [key, token].compactMap { $0?.summary.expiresAt }.min()
  return JSONWriter.object { writer in
    writer.member("Version", 1)
    writer.member("AccessKeyId", key.summary.key.account)
    writer.member("SecretAccessKey", text: key.secret)
    if let token { writer.member("SessionToken", text: token.secret) }
    writer.member("Expiration", expiry)
  }.withNewline
}

/// The names under which AWS credentials are stored.
enum AWSKeys {
  /// Returns the service of a name's secret access keys; their accounts are the access key ids.
  static func service(of name: String) -> String { "aws:" + name }

  static func key(of name: String, id: String) -> CredentialKey {
    CredentialKey(service: service(of: name), account: id)
  }

  static func token(of name: String, id: String) -> CredentialKey {
    CredentialKey(service: "aws-session-token:" + name, account: id)
  }
}
