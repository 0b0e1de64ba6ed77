internal import KistCore

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

  /// Returns the credential to save for a refresh token.
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
}
