extension UserStorage {
  /// Saves a credential if the condition holds; keeps these fields where it does not have them.
  @discardableResult
  public func save(
    _ credential: NewCredential, if condition: Condition = .always, keep: KeptFields = []
  ) async throws(StorageError) -> CredentialSummary {
    try await save(SaveRequest(credential: credential, condition: condition, keep: keep))
  }

  /// Loads the credential of a key.
  public func load(_ key: CredentialKey) async throws(StorageError) -> Credential {
    try await load(LoadRequest(key: key))
  }

  /// Deletes the credential of a key and returns whether it existed.
  @discardableResult
  public func delete(_ key: CredentialKey) async throws(StorageError) -> Bool {
    try await delete(DeleteRequest(key: key))
  }

  /// Returns everything that matches, from all pages.
  public func findAll(_ query: CredentialQuery = CredentialQuery())
    async throws(StorageError) -> [CredentialSummary]
  { try await allPages(of: query, find) }
}

/// Returns everything that matches, from all pages.
package func allPages(
  of query: CredentialQuery,
  _ find: (CredentialQuery) async throws(StorageError) -> CredentialPage
) async throws(StorageError) -> [CredentialSummary] {
  var found: [CredentialSummary] = []
  try await eachPage(of: query, find) { found += $0.credentials }
  return found
}

/// Calls the body with each page of the results.
package func eachPage(
  of query: CredentialQuery,
  _ find: (CredentialQuery) async throws(StorageError) -> CredentialPage,
  _ body: (CredentialPage) async throws(StorageError) -> Void
) async throws(StorageError) {
  var query = query
  var cursors = SeenCursors()
  repeat {
    let page = try await find(query)
    try await body(page)
    query.after = try cursors.add(page.next)
  } while query.after != nil
}

/// The cursors of the pages that were read.
///
/// They detect a page that leads back to an earlier one, which would repeat forever.
package struct SeenCursors {
  private var seen: Set<[UInt8]> = []

  package init() {}

  /// Returns the cursor of the next page, or throws `internal` when that page was read already.
  package mutating func add(_ cursor: String?) throws(StorageError) -> String? {
    guard let cursor else { return nil }
    guard seen.insert(Array(cursor.utf8)).inserted else {
      throw .internal("kistd answered with a page that leads back to one before it")
    }
    return cursor
  }
}
