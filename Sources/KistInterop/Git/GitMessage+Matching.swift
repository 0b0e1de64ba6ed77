internal import KistCore

extension GitMessage {
  /// The credentials for the very URL that is meant, expired ones too, the newest first: those that
  /// git saved, and those that a person saved.
  func matches(
    at service: String, _ find: Find
  ) async throws(StorageError) -> [CredentialSummary] {
    let query = CredentialQuery(service: service, account: username)
    return try await allPages(of: query, find).filter {
      $0.isSavedByHand || attributes.areContained(in: $0.attributes)
    }.newestFirst
  }

  /// The credentials that git saved with what the request names, whatever else they have, such as a
  /// path; a store has to look at all that it holds for them.
  func matchesAnywhere(_ find: Find) async throws(StorageError) -> [CredentialSummary] {
    let query = CredentialQuery(account: username, attributes: attributes)
    return try await allPages(of: query, find).filter {
      $0.attributes["kind"] == nil && $0.attributes["host"] == host
    }.newestFirst
  }

  /// Whether a credential has the password, or the credential, that the request has; where it has
  /// neither, whether git saved it.
  func hasSameSecret(as stored: Credential) -> Bool {
    guard password != nil || credential != nil else { return stored.summary.isSaved(by: .git) }
    let isPassword = stored.summary.attributes["authtype"] == nil
    return (password.map { isPassword && $0 == stored.secret } ?? true)
      && (credential.map { !isPassword && $0 == stored.secret } ?? true)
  }
}
