internal import KistCore

// The items of git's own helper for libsecret: git's contrib/credential/libsecret.
extension GitMessage {
  /// Reads the attributes of an item.
  init(attributesOfItem attributes: Attributes) {
    self.init()
    scheme = attributes["protocol"]
    let port = attributes["port"].map { ":" + $0 } ?? ""
    host = attributes["server"].map { $0 + port }
    path = attributes["object"].flatMap { $0.isEmpty ? nil : $0 }
    username = attributes["user"]
  }

  /// Reads the value of an item: a password, then lines in git's format.
  mutating func takeValue(ofItem value: Secret) {
    value.withBytes { bytes in
      var start = 0
      while start <= bytes.count {
        let end = bytes.firstOffset(of: UInt8(ascii: "\n"), from: start) ?? bytes.count
        takeStored(bytes.extracting(start..<end), isFirst: start == 0)
        start = end + 1
      }
    }
  }

  private mutating func takeStored(_ line: Span<UInt8>, isFirst: Bool) {
    if isFirst { return password = Secret(copying: line) }
    guard let equals = line.firstOffset(of: UInt8(ascii: "="), from: 0) else { return }
    let value = line.extracting((equals + 1)...)
    switch String(validating: line.extracting(..<equals)) {
    case "password_expiry_utc":
      passwordExpiry = String(validating: value).flatMap { Int64($0) }
        .flatMap(Timestamp.init(secondsSinceEpoch:))
    case "oauth_refresh_token": refreshToken = Secret(copying: value)
    default: break
    }
  }
}

extension CredentialSummary {
  /// Whether git's own helper stored the credential through the Secret Service.
  var isGitItem: Bool { attributes.areOfItem && isSaved(by: .git) }
}

extension UserStorage {
  /// Returns a stored credential, even an expired one, and its refresh token; `nil` if there is none.
  ///
  /// An item of git's own helper contains the token and the expiry in its value. They are split
  /// off, so that the secret is the password. kist keeps a token as a credential of its own.
  func storedForGit(
    _ key: CredentialKey
  ) async throws(StorageError) -> (credential: Credential, refreshToken: Secret?)? {
    guard var found = try await stored(key) else { return nil }
    var token: Secret?
    if found.summary.isGitItem {
      var value = GitMessage()
      value.takeValue(ofItem: found.secret)
      token = value.refreshToken
      found.secret = value.password ?? found.secret
      let ends = [found.summary.expiresAt, value.passwordExpiry].compactMap(\.self)
      found.summary.expiresAt = ends.min()
    }
    if token == nil { token = try await stored(GitMessage.refreshKey(of: key))?.secret }
    return (found, token)
  }
}
