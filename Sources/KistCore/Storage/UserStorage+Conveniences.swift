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
  var pages = PagesRead()
  repeat {
    let page = try await find(query)
    let size = page.credentials.reduce(0) { $0 + $1.size }
    query.after = try pages.add(next: page.next, size: size)
    try await body(page)
  } while query.after != nil
}

extension CredentialSummary {
  /// About the number of bytes that it uses in memory.
  fileprivate var size: Int {
    var size = 128
    for text in [key.service, key.account, label ?? "", revision.rawValue] {
      size += text.utf8.count
    }
    for (name, value) in attributes.sorted { size += 64 + name.utf8.count + value.utf8.count }
    return size
  }
}

/// The pages of a list that were read.
///
/// A false kistd could answer with pages without end. So this detects a page that leads back to an
/// earlier one, and limits the size of all pages together and the number of empty pages.
package struct PagesRead {
  /// The maximum size of a list in memory, in bytes: 256 MiB, or about a million credentials.
  package static let limit = 256 << 20
  /// The maximum number of empty pages: kistd examines 20,000 rows for each.
  package static let maximumEmpty = 1000
  /// What a page uses in memory in addition to its elements and its cursor.
  private static let overhead = 1 << 10

  private var cursors: Set<[UInt8]> = []
  private var size = 0
  private var empty = 0

  package init() {}

  /// Returns the cursor of the next page.
  ///
  /// Throws `internal` if that page was read already or too many were empty, and `tooLarge` if the
  /// list is too long.
  package mutating func add(next cursor: String?, size: Int) throws(StorageError) -> String? {
    self.size += size + Self.overhead + (cursor?.utf8.count ?? 0)
    guard self.size <= Self.limit else {
      throw StorageError(
        .tooLarge, "kistd answered with a list of more than \(Self.limit >> 20) MiB",
        hint: "ask for fewer with the options of the command; if you have not saved that many "
          + "credentials, check with `kist doctor` which program answers")
    }
    guard let cursor else { return nil }
    empty += size == 0 ? 1 : 0
    guard empty <= Self.maximumEmpty else {
      throw .internal("kistd answered with more than \(Self.maximumEmpty) empty pages")
    }
    guard cursors.insert(Array(cursor.utf8)).inserted else {
      throw .internal("kistd answered with a page that leads back to one before it")
    }
    return cursor
  }
}
