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
      let found = try await message.get(now: call.now(), find: storage.find, load: storage.load)
      return found.map { .done($0) } ?? .done()
    case "store":
      let message = try GitMessage(reading: call.readInput())
      try await message.store(
        now: call.now(), load: storage.load, save: storage.save, delete: storage.delete)
    case "erase":
      let message = try GitMessage(reading: call.readInput())
      try await message.erase(find: storage.find, load: storage.load, delete: storage.delete)
    case nil: throw .wrongWords("get, store, erase or capability")
    default: break
    }
    return .done()
  } catch {
    return .failed(error)
  }
}

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
  !text.isEmpty && text.utf8.allSatisfy { isAlphanumeric($0, or: "!#$%&'*+-.^_`|~") }
}

extension GitMessage {
  /// Saves a credential that git found to be right; does nothing if it is already stored.
  ///
  /// Git sends `store` after every use of a credential.
  func store(
    now: Timestamp, load: Load, save: Save, delete: Delete
  ) async throws(StorageError) {
    guard let new = newCredential else { return }
    let refreshKey = Self.refreshKey(of: new.key)
    if try await isNews(new, now, load) {
      let isSaved = try await KistInterop.save(
        new, kind: "authtype", now: now, load: load, save: save)
      if isSaved, refreshToken == nil { _ = try await delete(DeleteRequest(key: refreshKey)) }
    }
    if let refreshToken {
      let new = Self.newRefreshToken(refreshToken, beside: new.key)
      if try await isNews(new, now, load) {
        try await KistInterop.save(new, now: now, load: load, save: save)
      }
    }
  }

  static func newRefreshToken(_ token: Secret, beside key: CredentialKey) -> NewCredential {
    NewCredential(
      key: refreshKey(of: key), secret: token,
      attributes: [Attributes.toolName: Tool.git.rawValue, "kind": "oauth_refresh_token"])
  }

  /// The credential to save; `nil` if the message is incomplete or must not be stored.
  var newCredential: NewCredential? {
    guard let service, !isEphemeral else { return nil }
    var attributes = attributes
    let secret: Secret
    if let authtype, let credential {
      attributes["authtype"] = authtype
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

  /// Whether nothing or something else is stored.
  private func isNews(
    _ new: NewCredential, _ now: Timestamp, _ load: Load
  ) async throws(StorageError) -> Bool {
    guard
      let old = try await stored(new.key, load), old.secret == new.secret,
      !old.summary.isExpired(at: now)
    else { return true }
    return old.summary.expiresAt != new.expiresAt || old.summary.attributes != new.attributes
  }

  /// Deletes credentials that git found to be wrong: those that match and have the rejected
  /// password.
  func erase(find: Find, load: Load, delete: Delete) async throws(StorageError) {
    guard let service else {
      throw .badRequest("git named no host to erase, or no protocol, and all are not meant")
    }
    for summary in try await matches(at: service, find) + matchesAnywhere(find) {
      guard let credential = try await stored(summary.key, load), hasSameSecret(as: credential)
      else { continue }
      if try await KistInterop.delete(credential.summary, delete) {
        _ = try await delete(DeleteRequest(key: Self.refreshKey(of: summary.key)))
      }
    }
  }

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
