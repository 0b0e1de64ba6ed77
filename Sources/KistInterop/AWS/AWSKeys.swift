internal import KistCore

/// Under which names the credentials for AWS are kept.
enum AWSKeys {
  /// The service of the secret access keys of a name, whose accounts are the ids.
  static func service(of name: String) -> String { "aws:" + name }

  /// The secret access key of an id.
  static func key(of name: String, id: String) -> CredentialKey {
    CredentialKey(service: service(of: name), account: id)
  }

  /// The session token beside it.
  static func token(of name: String, id: String) -> CredentialKey {
    CredentialKey(service: "aws-session-token:" + name, account: id)
  }
}
