package import KistCore

/// Answers as git's credential helper: gitcredentials(7), "CUSTOM HELPERS".
///
/// Git uses the output whatever the exit status is, and shows standard error to the user. An
/// unknown operation is ignored, as git requires.
package func answerGit(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  do throws(StorageError) {
    switch call.arguments.first {
    case "capability": return .done(Secret(utf8: "version 0\ncapability authtype\n"))
    case "get":
      let message = try GitMessage(reading: call.readInput())
      return try await message.get(from: storage, at: call.now()).map { .done($0) } ?? .done()
    case "store": try await GitMessage(reading: call.readInput()).store(in: storage, at: call.now())
    case "erase": try await GitMessage(reading: call.readInput()).erase(from: storage)
    case nil: throw .wrongWords("get, store, erase or capability")
    default: break
    }
    return .done()
  } catch {
    return .failed(error)
  }
}

extension GitMessage {
  /// The name of the attribute with the authentication scheme of a secret that is not a password.
  static let authtype = "authtype"

  /// Returns the newest usable credential that matches: for the exact URL, else for the bare host,
  /// else for a path of the host.
  ///
  /// Returns `nil` if none matches. Skips credentials that git does not accept. If all were
  /// skipped, throws the problem of the first.
  fileprivate func get(
    from storage: UserStorage, at now: Timestamp
  ) async throws(StorageError) -> Secret? {
    guard let service else { return nil }
    var problem: StorageError?
    func answer(with summaries: [CredentialSummary]) async throws(StorageError) -> Secret? {
      for summary in summaries where knowsAuthtype || summary.attributes[Self.authtype] == nil {
        guard let (found, refreshToken) = try await storage.storedForGit(summary.key) else {
          continue
        }
        let secret = found.summary.isExpired(at: now) ? nil : found.secret
        // Git passes a refresh token without a password to the next helper, which may use it.
        guard secret != nil || refreshToken != nil else { continue }
        do throws(StorageError) {
          return try self.answer(found.summary, secret, refreshToken)
        } catch {
          problem = problem ?? error
        }
      }
      return nil
    }
    if let answer = try await answer(with: matches(at: service, in: storage)) { return answer }
    if let answer = try await answer(with: matchesAtBareHost(in: storage)) { return answer }
    if let answer = try await answer(with: matchesAnywhere(in: storage)) { return answer }
    if let problem { throw problem }
    return nil
  }

  private func answer(
    _ summary: CredentialSummary, _ secret: Secret?, _ refreshToken: Secret?
  ) throws(StorageError) -> Secret {
    var writer = GitWriter()
    if let authtype = summary.attributes[Self.authtype] {
      guard isToken(authtype) else {
        throw .badRequest(
          "the attribute authtype of the credential is not an authentication scheme",
          hint: "save it again, with one such as Bearer")
      }
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

  /// Refuses a credential that the user saved without an account, unless git sent a user name.
  ///
  /// Git sends an empty user name for the passphrase of a certificate. If git sent none, it would
  /// not send the password to the server, and would then delete it as wrong.
  private func checkAccount(of summary: CredentialSummary) throws(StorageError) {
    guard summary.isSavedByHand, summary.key.account.isEmpty, username == nil else { return }
    throw .badRequest(
      "the credential has no account, and git sends no password without one",
      hint: "save it again with an account: `kist save \(summary.key.service) ACCOUNT`")
  }

  /// Saves a credential that git found to be right; does nothing if it is already stored.
  ///
  /// Git sends `store` after every use of a credential. A credential of the bare host that git
  /// confirms stays the only one; a different secret is saved for the exact URL.
  fileprivate func store(in storage: UserStorage, at now: Timestamp) async throws(StorageError) {
    guard let new = newCredential else { return }
    if try await isConfirmation(of: new.key, in: storage, at: now) { return }
    if try await storage.lacks(new, at: now) {
      let isSaved = try await storage.save(new, kind: Self.authtype, at: now)
      if isSaved, refreshToken == nil { try await storage.delete(Self.refreshKey(of: new.key)) }
    }
    if let token = newRefreshToken(beside: new.key), try await storage.lacks(token, at: now) {
      try await storage.save(token, at: now)
    }
  }

  /// Whether git confirms a credential of the bare host, which it got for want of an exact name.
  private func isConfirmation(
    of key: CredentialKey, in storage: UserStorage, at now: Timestamp
  ) async throws(StorageError) -> Bool {
    guard refreshToken == nil, let bareHost, try await storage.stored(key) == nil else {
      return false
    }
    let bare = CredentialKey(service: bareHost, account: key.account)
    guard let old = try await storage.stored(bare) else { return false }
    return old.summary.isSavedByHand && hasSameSecret(as: old) && !old.summary.isExpired(at: now)
  }

  func newRefreshToken(beside key: CredentialKey) -> NewCredential? {
    refreshToken.map { token in
      NewCredential(
        key: Self.refreshKey(of: key), secret: token,
        attributes: [Attributes.toolName: Tool.git.rawValue, "kind": "oauth_refresh_token"])
    }
  }

  /// The credential to save; `nil` if the message is incomplete or must not be stored.
  var newCredential: NewCredential? {
    guard let service, !isEphemeral else { return nil }
    var attributes = attributes
    let secret: Secret
    if let authtype, let credential {
      attributes[Self.authtype] = authtype
      secret = credential
    } else if let password, username != nil {
      secret = password
    } else {
      return nil
    }
    return NewCredential(
      key: CredentialKey(service: service, account: username ?? ""), secret: secret,
      attributes: attributes, expiresAt: passwordExpiry)
  }

  /// Deletes credentials that git found to be wrong: matching ones with the rejected password.
  fileprivate func erase(from storage: UserStorage) async throws(StorageError) {
    guard let service else {
      throw .badRequest("git asked to erase without a protocol or a host; nothing was erased")
    }
    let all =
      try await matches(at: service, in: storage)
      + matchesAtBareHost(in: storage) + matchesAnywhere(in: storage)
    for summary in all {
      if let (credential, _) = try await storage.storedForGit(summary.key),
        hasSameSecret(as: credential), try await storage.deleteUnchanged(credential.summary)
      {
        try await storage.delete(Self.refreshKey(of: summary.key))
      }
    }
  }

  /// Returns those credentials for the exact URL that git, git's own helper for libsecret or the
  /// user saved, the newest first.
  private func matches(
    at service: String, in storage: UserStorage
  ) async throws(StorageError) -> [CredentialSummary] {
    try await storage.findAll(CredentialQuery(service: service, account: username)).filter {
      $0.isSavedByHand || $0.isGitItem || attributes.areContained(in: $0.attributes)
    }.newestFirst
  }

  /// Returns the credentials that the user saved by the bare host, the newest first.
  private func matchesAtBareHost(
    in storage: UserStorage
  ) async throws(StorageError) -> [CredentialSummary] {
    guard let bareHost else { return [] }
    return try await storage.findAll(CredentialQuery(service: bareHost, account: username))
      .filter(\.isSavedByHand).newestFirst
  }

  /// Returns the credentials that git saved with the members of the request.
  ///
  /// They may have more members, such as a path. A storage must search everything for them.
  private func matchesAnywhere(
    in storage: UserStorage
  ) async throws(StorageError) -> [CredentialSummary] {
    try await storage.findAll(CredentialQuery(account: username, attributes: attributes)).filter {
      $0.attributes["kind"] == nil && $0.attributes["host"] == host
    }.newestFirst
  }

  /// Whether a credential has the secret of the request; without one, whether git saved it.
  private func hasSameSecret(as stored: Credential) -> Bool {
    guard password != nil || credential != nil else { return stored.summary.isSaved(by: .git) }
    let isPassword = stored.summary.attributes[Self.authtype] == nil
    return (password.map { isPassword && $0 == stored.secret } ?? true)
      && (credential.map { !isPassword && $0 == stored.secret } ?? true)
  }
}

extension UserStorage {
  /// Whether there is nothing, something different or something expired under a credential's key.
  fileprivate func lacks(
    _ new: NewCredential, at now: Timestamp
  ) async throws(StorageError) -> Bool {
    guard let (old, _) = try await storedForGit(new.key) else { return true }
    let kind = GitMessage.authtype
    return old.secret != new.secret || old.summary.isExpired(at: now)
      || new.expiresAt != nil && old.summary.expiresAt != new.expiresAt
      || old.summary.attributes[kind] != new.attributes[kind]
      || !old.summary.isGitItem && !new.attributes.areContained(in: old.summary.attributes)
  }
}

/// Whether a text is a token: RFC 9110 §5.6.2.
private func isToken(_ text: String) -> Bool {
  !text.isEmpty && text.utf8.allSatisfy { isAlphanumeric($0, or: "!#$%&'*+-.^_`|~") }
}
