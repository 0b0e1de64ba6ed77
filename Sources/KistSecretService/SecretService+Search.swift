internal import KistCore

/// A search that was made while kist was locked; one locked item takes the place of
/// what it will find.
struct LockedSearch {
  /// How the last element of its path begins.
  static let mark = "search"

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

  /// Keeps a search of a program, and returns the path for it.
  ///
  /// A search that is no longer kept would look as if it found nothing. So none is dropped.
  private func keep(_ search: LockedSearch) throws(ServiceError) -> String {
    try checkPresence(of: search.client)
    let size = search.attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    guard size <= ServiceLimits.lockedSearchBytes else {
      throw .overLimit(
        "the attributes of a search may have \(ServiceLimits.lockedSearchBytes) bytes while kist "
          + "is locked")
    }
    let own = lockedSearches.values.count { $0.client == search.client }
    guard own < ServiceLimits.lockedSearches else { throw .isLocked }
    // Not a number: after a restart, a path must not lead to the search of another program.
    let identifier = LockedSearch.mark + UInt64.random(in: .min ... .max).inHexadecimal
    lockedSearches[identifier] = search
    return ObjectPath.item(
      collection: search.collection ?? collections.defaultCollection, item: identifier
    ).path
  }
}
