extension UserStorage {
  /// Saves a credential if the condition holds.
  @discardableResult
  public func save(_ credential: NewCredential, if condition: Condition = .always)
    async throws(StorageError) -> CredentialSummary
  { try await save(SaveRequest(credential: credential, condition: condition)) }

  /// Loads the credential of a key.
  public func load(_ key: CredentialKey) async throws(StorageError) -> Credential {
    try await load(LoadRequest(key: key))
  }

  /// Deletes the credential of a key; `false` when there was none.
  @discardableResult
  public func delete(_ key: CredentialKey) async throws(StorageError) -> Bool {
    try await delete(DeleteRequest(key: key))
  }

  /// Finds everything that matches, page after page.
  public func findAll(_ query: CredentialQuery = CredentialQuery())
    async throws(StorageError) -> [CredentialSummary]
  { try await allPages(of: query, find) }
}

/// Finds everything that matches, page after page.
package func allPages(
  of query: CredentialQuery,
  _ find: (CredentialQuery) async throws(StorageError) -> CredentialPage
) async throws(StorageError) -> [CredentialSummary] {
  var found: [CredentialSummary] = []
  var query = query
  repeat {
    let page = try await find(query)
    found += page.credentials
    query.after = page.next
  } while query.after != nil
  return found
}
