/// A credential to save.
public struct NewCredential: Sendable, Equatable {
  /// The key of the credential.
  public var key: CredentialKey
  /// The secret, at most 512 KiB.
  public var secret: Secret
  /// A name for the user, at most 1,024 bytes.
  public var label: String?
  /// Attributes for searches: at most 64, together at most 16 KiB.
  ///
  /// A name has 1 to 256 bytes, without control characters. A value has at most 1,024 bytes.
  public var attributes: Attributes
  /// The time from which the credential is expired.
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
  /// Everything except the secret.
  public var summary: CredentialSummary
  /// The secret.
  public var secret: Secret
  /// When the storage last confirmed that it had the newest state; `nil` if it always has it.
  ///
  /// Only a shared vault sets it.
  public var asOf: Timestamp?

  /// Makes a credential from its parts.
  public init(summary: CredentialSummary, secret: Secret, asOf: Timestamp? = nil) {
    self.summary = summary
    self.secret = secret
    self.asOf = asOf
  }

  /// Compares the credentials; `asOf` is not a part of them.
  public static func == (left: Credential, right: Credential) -> Bool {
    left.summary == right.summary && left.secret == right.secret
  }
}

/// A stored credential without its secret.
public struct CredentialSummary: Sendable, Equatable {
  /// The key of the credential.
  public var key: CredentialKey
  /// A name for the user.
  public var label: String?
  /// Attributes for searches.
  public var attributes: Attributes
  /// The time at which the key was first saved.
  public var createdAt: Timestamp
  /// The time at which the credential was last saved.
  public var modifiedAt: Timestamp
  /// The time from which the credential is expired.
  public var expiresAt: Timestamp?
  /// The revision of the credential.
  public var revision: Revision

  /// Makes a summary from its fields.
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

  /// Makes the summary of a credential that is saved.
  package init(
    of credential: NewCredential, createdAt: Timestamp, modifiedAt: Timestamp, revision: Revision
  ) {
    self.init(
      key: credential.key, label: credential.label, attributes: credential.attributes,
      createdAt: createdAt, modifiedAt: modifiedAt, expiresAt: credential.expiresAt,
      revision: revision)
  }

  /// Returns whether the credential is expired: `now` is at or after `expiresAt`.
  public func isExpired(at now: Timestamp) -> Bool { expiresAt.map { now >= $0 } ?? false }
}

extension [CredentialSummary] {
  /// The credentials by time of save, the latest first; ties are ordered by revision, else by key.
  package var newestFirst: [CredentialSummary] {
    sorted { left, right in
      if left.modifiedAt != right.modifiedAt { return left.modifiedAt > right.modifiedAt }
      return left.revision.isLater(than: right.revision) ?? (left.key < right.key)
    }
  }
}
