internal import KistCore

extension GitMessage {
  /// Returns the newest usable credential that matches; one for the exact URL comes first.
  ///
  /// Returns `nil` if there is none. Skips credentials that git does not accept. If there are no
  /// others, throws the problem of the newest.
  func get(now: Timestamp, find: Find, load: Load) async throws(StorageError) -> Secret? {
    guard let service else { return nil }
    var problem: StorageError?
    let atURL = try await matches(at: service, find)
    if let answer = try await answer(with: atURL, now, load, &problem) { return answer }
    if let answer = try await answer(with: matchesAnywhere(find), now, load, &problem) {
      return answer
    }
    if let problem { throw problem }
    return nil
  }

  /// Returns the answer with the first of these credentials that can be used.
  private func answer(
    with summaries: [CredentialSummary], _ now: Timestamp, _ load: Load,
    _ problem: inout StorageError?
  ) async throws(StorageError) -> Secret? {
    for summary in summaries where isAnswerable(summary) {
      let refreshToken = try await stored(Self.refreshKey(of: summary.key), load)?.secret
      var credential: Credential?
      if !summary.isExpired(at: now) {
        credential = try await stored(summary.key, load)
      }
      // Git passes a refresh token without a password to the next helper, which may use it.
      guard credential != nil || refreshToken != nil else { continue }
      do throws(StorageError) {
        return try answer(summary, credential?.secret, refreshToken)
      } catch {
        problem = problem ?? error
      }
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
      guard isToken(authtype) else { throw .notAnAuthtype }
      try writer.line("capability[]", "authtype")
      try writer.line("authtype", authtype)
      if !summary.key.account.isEmpty { try writer.line("username", summary.key.account) }
      if let secret { try writer.line("credential", secret) }
    } else {
      try checkAccount(of: summary)
      try writer.line("username", summary.key.account)
      if let secret { try writer.line("password", secret) }
    }
    if secret != nil, let expiry = summary.expiresAt {
      try writer.line("password_expiry_utc", "\(expiry.secondsSinceEpoch)")
    }
    if let refreshToken { try writer.line("oauth_refresh_token", refreshToken) }
    return writer.finish()
  }

  /// Refuses a credential that the user saved without an account, unless git sends an empty user
  /// name.
  ///
  /// Git sends an empty user name for the passphrase of a certificate. Otherwise git would send no
  /// password, and would delete the password that it never tried.
  private func checkAccount(of summary: CredentialSummary) throws(StorageError) {
    guard summary.isSavedByHand, summary.key.account.isEmpty, username == nil else { return }
    throw StorageError(
      .badRequest, "the credential has no account, and git sends no password without one",
      hint: "save it again: `kist save URL ACCOUNT`")
  }
}

extension StorageError {
  fileprivate static var notAnAuthtype: StorageError {
    StorageError(
      .badRequest, "the attribute authtype of the credential is not the scheme of a header",
      hint: "save it again, with one such as Bearer")
  }
}

/// Whether a text is a token: RFC 9110 §5.6.2.
private func isToken(_ text: String) -> Bool {
  !text.isEmpty
    && text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
    }
}
