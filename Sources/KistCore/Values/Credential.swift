/// A credential as it is handed in to be saved.
public struct NewCredential: Sendable, Equatable {
  /// What it will be found by.
  public var key: CredentialKey
  /// The bytes to keep, at most 512 KiB.
  public var secret: Secret
  /// A name for people, at most 1,024 bytes.
  public var label: String?
  /// What else to find it by: at most 64 names of 1 to 64 printable ASCII characters, values of at
  /// most 1,024 bytes, 16 KiB together.
  public var attributes: Attributes
  /// When it ceases to be handed out.
  public var expiresAt: Timestamp?

  /// Makes a credential to save.
  public init(
    key: CredentialKey, secret: Secret, label: String? = nil, attributes: Attributes = [:],
    expiresAt: Timestamp? = nil
  ) {
    self.key = key
    self.secret = secret
    self.label = label
    self.attributes = attributes
    self.expiresAt = expiresAt
  }
}

/// A stored credential with its secret.
public struct Credential: Sendable, Equatable {
  /// Everything but the secret.
  public var summary: CredentialSummary
  /// The bytes that were saved.
  public var secret: Secret

  /// Puts a credential together.
  public init(summary: CredentialSummary, secret: Secret) {
    self.summary = summary
    self.secret = secret
  }
}

/// A stored credential without its secret.
public struct CredentialSummary: Sendable, Equatable {
  /// What it is found by.
  public var key: CredentialKey
  /// A name for people.
  public var label: String?
  /// What else it is found by.
  public var attributes: Attributes
  /// When its key was first saved.
  public var createdAt: Timestamp
  /// When it was last saved.
  public var modifiedAt: Timestamp
  /// When it ceases to be handed out.
  public var expiresAt: Timestamp?
  /// The mark of this state of it.
  public var revision: Revision

  /// Puts a summary together.
  public init(
    key: CredentialKey, label: String? = nil, attributes: Attributes = [:], createdAt: Timestamp,
    modifiedAt: Timestamp, expiresAt: Timestamp? = nil, revision: Revision
  ) {
    self.key = key
    self.label = label
    self.attributes = attributes
    self.createdAt = createdAt
    self.modifiedAt = modifiedAt
    self.expiresAt = expiresAt
    self.revision = revision
  }

  /// The summary of a credential once it is saved.
  package init(
    of credential: NewCredential, createdAt: Timestamp, modifiedAt: Timestamp, revision: Revision
  ) {
    self.init(
      key: credential.key, label: credential.label, attributes: credential.attributes,
      createdAt: createdAt, modifiedAt: modifiedAt, expiresAt: credential.expiresAt,
      revision: revision)
  }

  /// Whether the credential is past its time: expired means now is at or after `expiresAt`.
  public func isExpired(at now: Timestamp) -> Bool { expiresAt.map { now >= $0 } ?? false }
}
