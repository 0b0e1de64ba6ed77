internal import KistCore

/// The names under which AWS credentials are stored.
enum AWSKeys {
  /// Returns the service of a name's secret access keys; their accounts are the access key ids.
  static func service(of name: String) -> String { "aws:" + name }

  /// Returns the key of an id's secret access key.
  static func key(of name: String, id: String) -> CredentialKey {
    CredentialKey(service: service(of: name), account: id)
  }

  /// Returns the key of the session token that belongs to it.
  static func token(of name: String, id: String) -> CredentialKey {
    CredentialKey(service: "aws-session-token:" + name, account: id)
  }
}
