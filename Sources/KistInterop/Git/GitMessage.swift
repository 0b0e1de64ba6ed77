internal import KistCore

/// A message from git to a helper: git-credential(1), "INPUT/OUTPUT FORMAT".
///
/// Absent members are `nil`.
struct GitMessage: Sendable, Equatable {
  /// The scheme of the URL.
  var scheme: String?
  /// The host with its port.
  var host: String?
  var path: String?
  var username: String?
  var password: Secret?
  var passwordExpiry: Timestamp?
  var refreshToken: Secret?
  /// The scheme of an `Authorization` header; `credential` is the other part.
  var authtype: String?
  var credential: Secret?
  /// Whether git forbids storing the message.
  var isEphemeral = false
  /// Whether this git knows `authtype` and `credential`.
  var knowsAuthtype = false
}

extension GitMessage {
  /// The service of the matching credentials: `scheme://host[:port][/path]`.
  ///
  /// It is `nil` if it could match any host. A scheme has no colon and a host has no slash, so
  /// different requests have different services.
  var service: String? {
    guard let scheme, host != nil || path != nil else { return nil }
    return "\(scheme)://\(host ?? "")" + (path.map { "/\($0)" } ?? "")
  }

  /// The attributes that distinguish the credentials that git saved.
  var attributes: Attributes {
    var attributes: Attributes = [Attributes.toolName: Tool.git.rawValue]
    attributes["protocol"] = scheme
    attributes["host"] = host
    attributes["path"] = path
    return attributes
  }

  /// Returns the key of the refresh token that belongs to a credential.
  static func refreshKey(of key: CredentialKey) -> CredentialKey {
    CredentialKey(service: "oauth_refresh_token:" + key.service, account: key.account)
  }
}
