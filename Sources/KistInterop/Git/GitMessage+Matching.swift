internal import KistCore

extension GitMessage {
  /// Returns the credentials for the exact URL, including expired ones, the newest first.
  ///
  /// Both git and the user may have saved them.
  func matches(
    at service: String, _ find: Find
  ) async throws(StorageError) -> [CredentialSummary] {
    let query = CredentialQuery(service: service, account: username)
    return try await allPages(of: query, find).filter {
      $0.isSavedByHand || attributes.areContained(in: $0.attributes)
    }.newestFirst
  }

  /// Returns the credentials that git saved with the members of the request.
  ///
  /// They may have more members, such as a path. A storage must search all its credentials for
  /// them.
  func matchesAnywhere(_ find: Find) async throws(StorageError) -> [CredentialSummary] {
    let query = CredentialQuery(account: username, attributes: attributes)
    return try await allPages(of: query, find).filter {
      $0.attributes["kind"] == nil && $0.attributes["host"] == host
    }.newestFirst
  }

  /// Whether a credential has the password or the credential of the request.
  ///
  /// If the request has neither: whether git saved it.
  func hasSameSecret(as stored: Credential) -> Bool {
    guard password != nil || credential != nil else { return stored.summary.isSaved(by: .git) }
    let isPassword = stored.summary.attributes["authtype"] == nil
    return (password.map { isPassword && $0 == stored.secret } ?? true)
      && (credential.map { !isPassword && $0 == stored.secret } ?? true)
  }
}
