internal import KistCore

/// What git sends to a helper: git-credential(1), "INPUT/OUTPUT FORMAT"; what is absent is `nil`.
struct GitMessage: Sendable, Equatable {
  /// The scheme of the URL.
  var scheme: String?
  /// With its port.
  var host: String?
  var path: String?
  var username: String?
  var password: Secret?
  var passwordExpiry: Timestamp?
  var refreshToken: Secret?
  /// The scheme of an `Authorization` header, whose other part is `credential`.
  var authtype: String?
  var credential: Secret?
  /// Whether nothing of it may be stored.
  var isEphemeral = false
  /// Whether this git knows `authtype` and `credential`.
  var knowsAuthtype = false
}

extension GitMessage {
  /// The service of the credentials that are meant: `scheme://host[:port][/path]`; `nil` where that
  /// could be any host's.
  ///
  /// A scheme has no colon and a host has no slash, so that no two requests share one.
  var service: String? {
    guard let scheme, host != nil || path != nil else { return nil }
    return "\(scheme)://\(host ?? "")" + (path.map { "/\($0)" } ?? "")
  }

  /// What tells the credentials that git saved apart.
  var attributes: Attributes {
    var attributes: Attributes = [Attributes.toolName: Tool.git.rawValue]
    attributes["protocol"] = scheme
    attributes["host"] = host
    attributes["path"] = path
    return attributes
  }

  /// Where the refresh token is kept that belongs to a credential.
  static func refreshKey(of key: CredentialKey) -> CredentialKey {
    CredentialKey(service: "oauth_refresh_token:" + key.service, account: key.account)
  }
}
