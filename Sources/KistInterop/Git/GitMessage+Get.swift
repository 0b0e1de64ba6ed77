internal import KistCore

extension GitMessage {
  /// The newest credential that is meant and can be used, one for the very URL before others; `nil`
  /// where there is none.
  func get(now: Timestamp, find: Find, load: Load) async throws(StorageError) -> Secret? {
    guard namesSomething else { return nil }
    let atURL = try await matchesAtURL(find)
    if let answer = try await answer(with: atURL, now, load) { return answer }
    return try await answer(with: matchesAnywhere(find), now, load)
  }

  /// The answer with the first of these that can be used.
  private func answer(
    with summaries: [CredentialSummary], _ now: Timestamp, _ load: Load
  ) async throws(StorageError) -> Secret? {
    for summary in summaries where isAnswerable(summary) {
      let refreshToken = try await stored(Self.refreshKey(of: summary.key), load)?.secret
      var credential: Credential?
      if !summary.isExpired(at: now) {
        credential = try await stored(summary.key, load)
      }
      // Git passes a refresh token without a password on to the next helper, which may use it.
      guard credential != nil || refreshToken != nil else { continue }
      return try answer(summary, credential?.secret, refreshToken)
    }
    return nil
  }

  private func isAnswerable(_ summary: CredentialSummary) -> Bool {
    knowsAuthtype || summary.attributes["authtype"] == nil
  }

  private func answer(
    _ summary: CredentialSummary, _ secret: Secret?, _ refreshToken: Secret?
  ) throws(StorageError) -> Secret {
    var writer = GitWriter()
    if let authtype = summary.attributes["authtype"] {
      writer.line("capability[]", "authtype")
      writer.line("authtype", authtype)
      if !summary.key.account.isEmpty { writer.line("username", summary.key.account) }
      if let secret { try writer.line("credential", secret) }
    } else {
      writer.line("username", summary.key.account)
      if let secret { try writer.line("password", secret) }
    }
    if secret != nil, let expiry = summary.expiresAt {
      writer.line("password_expiry_utc", "\(expiry.secondsSinceEpoch)")
    }
    if let refreshToken { try writer.line("oauth_refresh_token", refreshToken) }
    return writer.finish()
  }
}
