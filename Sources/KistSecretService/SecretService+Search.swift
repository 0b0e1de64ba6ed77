internal import KistCore

/// A search that was made while kist was locked; one locked item takes the place of
/// what it will find.
struct LockedSearch {
  let client: String
  let attributes: [String: String]
  /// The collection to search; `nil` for all.
  let collection: String?
}

extension SecretService {
  /// Returns the paths of the items that have all these attributes, the newest first.
  ///
  /// While kist is locked, one locked item takes the place of what the search will find, if the
  /// user can be asked. Otherwise the search throws: a program that finds nothing may replace its key.
  package func search(
    _ attributes: [String: String], in collection: String? = nil, for client: String
  ) async throws(ServiceError) -> (unlocked: [String], locked: [String]) {
    if let collection, collections[collection] == nil { throw .noSuchObject }
    let inMemory = collection == nil || collection == Collection.session
    let fromMemory = inMemory ? pathsInMemory(attributes) : []
    if collection == Collection.session { return (fromMemory, []) }
    let canAsk = await functions.asking.canAsk()
    do throws(ServiceError) {
      // kistd does not report that it was locked. Only a locked item leads to a prompt.
      if canAsk, !(try await isOpen()) { noteLocked(.locked("the storage is locked")) }
      // A lock right after the reading has emptied the index.
      repeat { try await ready() } while !isReady
    } catch {
      guard error == .isLocked, canAsk else { throw error }
      let search = LockedSearch(client: client, attributes: attributes, collection: collection)
      return (fromMemory, [try keep(search)])
    }
    if let collection, collections[collection] == nil { throw .noSuchObject }
    return (storedPaths(attributes, in: collection) + fromMemory, [])
  }

  func storedPaths(_ attributes: [String: String], in collection: String?) -> [String] {
    index.find(attributes, in: collection).map { index.path(at: $0).path }
  }

  private func pathsInMemory(_ attributes: [String: String]) -> [String] {
    memory.find(Attributes(attributes)).map {
      ObjectPath.item(collection: Collection.session, item: $0).path
    }
  }

  /// Keeps a search of a program in place of its oldest one, and returns the path for it.
  private func keep(_ search: LockedSearch) throws(ServiceError) -> String {
    try checkPresence(of: search.client)
    let size = search.attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    guard size <= ServiceLimits.lockedSearchBytes else {
      throw .overLimit(
        "the attributes of a search may have \(ServiceLimits.lockedSearchBytes) bytes while kist "
          + "is locked")
    }
    let own = lockedSearches.filter { $0.value.client == search.client }.keys
    if own.count >= ServiceLimits.lockedSearches,
      let oldest = own.min(by: { ($0.utf8.count, $0) < ($1.utf8.count, $1) })
    {
      lockedSearches[oldest] = nil
    }
    lockedSearchesMade += 1
    let identifier = "search\(lockedSearchesMade)"
    lockedSearches[identifier] = search
    return ObjectPath.item(
      collection: search.collection ?? collections.defaultCollection, item: identifier
    ).path
  }
}
