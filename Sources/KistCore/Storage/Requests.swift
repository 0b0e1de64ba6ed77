/// What `save` is asked.
public struct SaveRequest: Sendable, Equatable {
  /// The credential to keep.
  public var credential: NewCredential
  /// What must hold for it to be kept.
  public var condition: Condition

  /// Makes a request.
  public init(credential: NewCredential, condition: Condition = .always) {
    self.credential = credential
    self.condition = condition
  }
}

/// What `load` is asked.
public struct LoadRequest: Sendable, Equatable {
  /// The credential that is wanted.
  public var key: CredentialKey
  /// Whether one past its time is given all the same.
  public var allowExpired: Bool

  /// Makes a request.
  public init(key: CredentialKey, allowExpired: Bool = false) {
    self.key = key
    self.allowExpired = allowExpired
  }
}

/// What `delete` is asked.
public struct DeleteRequest: Sendable, Equatable {
  /// The credential to delete.
  public var key: CredentialKey
  /// The revision that it must be at; whatever it is at when `nil`.
  public var ifRevision: Revision?

  /// Makes a request.
  public init(key: CredentialKey, ifRevision: Revision? = nil) {
    self.key = key
    self.ifRevision = ifRevision
  }
}

/// What `find` is asked; what is `nil` or empty matches everything.
public struct CredentialQuery: Sendable {
  /// The service, byte for byte.
  public var service: String?
  /// The account, byte for byte.
  public var account: String?
  /// Attributes that must all be there.
  public var attributes: Attributes
  /// The most credentials on the page, 1 to 1,000.
  public var limit: Int
  /// Where the page before this one ended: its `next`.
  public var after: String?

  /// Makes a query.
  public init(
    service: String? = nil, account: String? = nil, attributes: Attributes = [:],
    limit: Int = Limits.page, after: String? = nil
  ) {
    self.service = service
    self.account = account
    self.attributes = attributes
    self.limit = limit
    self.after = after
  }

  /// Whether a credential of this key and these attributes is asked for.
  package func matches(_ summary: CredentialSummary) -> Bool {
    (service?.hasSameBytes(as: summary.key.service) ?? true)
      && (account?.hasSameBytes(as: summary.key.account) ?? true)
      && attributes.areContained(in: summary.attributes)
  }
}

extension CredentialQuery: Equatable {
  /// Compares texts byte by byte.
  public static func == (left: Self, right: Self) -> Bool {
    hasSameBytes(left.service, right.service) && hasSameBytes(left.account, right.account)
      && left.attributes == right.attributes && left.limit == right.limit
      && left.after == right.after
  }

  private static func hasSameBytes(_ left: String?, _ right: String?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): left.hasSameBytes(as: right)
    default: false
    }
  }
}

/// One page of what `find` found.
public struct CredentialPage: Sendable, Equatable {
  /// The credentials, without their secrets.
  public var credentials: [CredentialSummary]
  /// Where to go on, as the same query's `after`; `nil` when there is no more.
  ///
  /// A page may be shorter than its limit and still have a next one.
  public var next: String?

  /// Makes a page.
  public init(credentials: [CredentialSummary], next: String? = nil) {
    self.credentials = credentials
    self.next = next
  }
}
