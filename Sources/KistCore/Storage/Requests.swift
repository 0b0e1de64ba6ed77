/// A request to save a credential.
public struct SaveRequest: Sendable, Equatable {
  /// The credential to save.
  public var credential: NewCredential
  /// The condition that must hold for the save.
  public var condition: Condition
  /// The fields of the stored credential to keep where `credential` does not have them.
  public var keep: KeptFields

  /// Makes a request.
  public init(
    credential: NewCredential, condition: Condition = .always, keep: KeptFields = []
  ) {
    self.credential = credential
    self.condition = condition
    self.keep = keep
  }
}

/// A request to load a credential.
public struct LoadRequest: Sendable, Equatable {
  /// The key of the credential.
  public var key: CredentialKey
  /// Whether to return an expired credential too.
  public var allowExpired: Bool
  /// The maximum age, in seconds, of the confirmation that the storage has the newest state.
  ///
  /// With 0, the storage confirms it now. If it cannot, the load fails with `unavailable`. With `nil`,
  /// any age is accepted. Only a shared vault has an older state; other storages ignore this.
  public var maxStale: Int64?

  /// Makes a request.
  public init(key: CredentialKey, allowExpired: Bool = false, maxStale: Int64? = nil) {
    self.key = key
    self.allowExpired = allowExpired
    self.maxStale = maxStale
  }
}

/// A request to delete a credential.
public struct DeleteRequest: Sendable, Equatable {
  /// The key of the credential.
  public var key: CredentialKey
  /// The revision that the credential must have; `nil` for any.
  public var ifRevision: Revision?

  /// Makes a request.
  public init(key: CredentialKey, ifRevision: Revision? = nil) {
    self.key = key
    self.ifRevision = ifRevision
  }

  /// The condition that must hold for the deletion.
  package var condition: Condition { ifRevision.map(Condition.ifRevision) ?? .always }
}

/// A request to find credentials.
///
/// A field that is `nil` or empty matches everything.
public struct CredentialQuery: Sendable {
  /// The service, compared byte by byte.
  public var service: String?
  /// The account, compared byte by byte.
  public var account: String?
  /// Attributes that a credential must all have.
  public var attributes: Attributes
  /// The maximum number of credentials on the page, 1 to 1,000.
  public var limit: Int
  /// The `next` of the previous page.
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

  /// Returns whether a credential matches the query.
  package func matches(_ summary: CredentialSummary) -> Bool {
    (service?.hasSameBytes(as: summary.key.service) ?? true)
      && (account?.hasSameBytes(as: summary.key.account) ?? true)
      && attributes.areContained(in: summary.attributes)
  }
}

extension CredentialQuery {
  /// Returns a page of the query, for a storage that can only list all its credentials.
  ///
  /// The page is sorted by key. A cursor is the reference of the last key on its page.
  package func page(of summaries: [CredentialSummary]) throws(StorageError) -> CredentialPage {
    let start = try after.map { (cursor) throws(StorageError) in
      guard let reference = CredentialReference(cursor) else {
        throw .badRequest("`after` is not a cursor of this query")
      }
      return reference.key
    }
    var page =
      summaries
      .filter { summary in matches(summary) && (start.map { summary.key > $0 } ?? true) }
      .sorted { $0.key < $1.key }
    guard page.count > limit else { return CredentialPage(credentials: page) }
    page.removeLast(page.count - limit)
    return CredentialPage(
      credentials: page, next: page.last.map { CredentialReference($0.key).description })
  }
}

extension CredentialQuery: Equatable {
  /// Compares texts byte by byte.
  public static func == (left: Self, right: Self) -> Bool {
    left.service.hasSameBytes(as: right.service) && left.account.hasSameBytes(as: right.account)
      && left.attributes == right.attributes && left.limit == right.limit
      && left.after == right.after
  }
}

/// One page of the results of `find`.
public struct CredentialPage: Sendable, Equatable {
  /// The credentials, without their secrets.
  public var credentials: [CredentialSummary]
  /// The `after` of the next page; `nil` when there are no more credentials.
  ///
  /// A page may be shorter than its limit and still have a next one.
  public var next: String?

  /// Makes a page.
  public init(credentials: [CredentialSummary], next: String? = nil) {
    self.credentials = credentials
    self.next = next
  }
}
