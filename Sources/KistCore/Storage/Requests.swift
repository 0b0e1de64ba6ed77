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

extension CredentialQuery {
  /// The page of a storage that can only list all it has: by key, each cursor the reference of the
  /// last key on its page.
  package func page(of summaries: [CredentialSummary]) throws(StorageError) -> CredentialPage {
    let start = try after.map(Self.key(at:))
    let matching =
      summaries
      .filter { summary in matches(summary) && (start.map { summary.key > $0 } ?? true) }
      .sorted { $0.key < $1.key }
    let page = Array(matching.prefix(limit))
    return CredentialPage(
      credentials: page,
      next: page.count == matching.count
        ? nil : page.last.map { CredentialReference($0.key).description })
  }

  private static func key(at cursor: String) throws(StorageError) -> CredentialKey {
    guard let reference = CredentialReference(cursor) else {
      throw .badRequest("`after` is not a cursor of this query")
    }
    return reference.key
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
