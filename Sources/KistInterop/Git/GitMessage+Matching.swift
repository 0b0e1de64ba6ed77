internal import KistCore

extension GitMessage {
  /// The credentials that are meant, expired ones too, the newest first: those that git saved with
  /// what the request names, whatever else they have, and those that a person saved for its URL.
  func matches(_ find: Find) async throws(StorageError) -> [CredentialSummary] {
    let query = CredentialQuery(account: username, attributes: attributes)
    var found = try await allPages(of: query, find).filter { $0.attributes["kind"] == nil }
    if let service {
      let query = CredentialQuery(service: service, account: username)
      found += try await allPages(of: query, find).filter(\.isSavedByHand)
    }
    return found.newestFirst
  }

  /// Whether a credential has the password, or the credential, that the request has, if any.
  func hasSameSecret(as stored: Credential) -> Bool {
    let isPassword = stored.summary.attributes["authtype"] == nil
    return (password.map { isPassword && $0 == stored.secret } ?? true)
      && (credential.map { !isPassword && $0 == stored.secret } ?? true)
  }
}
