package import KistCore

/// A search that was made while kist was locked; one locked item takes the place of
/// what it will find.
struct LockedSearch {
  /// How the last element of its path begins.
  static let mark = "search"

  let client: String
  let attributes: Attributes
  /// The collection to search; `nil` for all.
  let collection: String?
}

extension String {
  /// Whether the last element of a path is that of a search.
  var isOfLockedSearch: Bool { utf8.starts(with: LockedSearch.mark.utf8) }
}

extension SecretService {
  /// Returns the paths of the items that have all these attributes, the newest first.
  ///
  /// While kist is locked, one locked item takes the place of what the search will find, if the
  /// user can be asked. Otherwise the search throws: a program that finds nothing may replace its key.
  package func search(
    _ attributes: Attributes, in collection: String? = nil, for client: String
  ) async throws(ServiceError) -> (unlocked: [String], locked: [String]) {
    if let collection, collections[collection] == nil { throw .noSuchObject }
    let inMemory = collection == nil || collection == Collection.session
    let fromMemory = inMemory ? pathsInMemory(attributes) : []
    if collection == Collection.session { return (fromMemory, []) }
    let canAsk = await functions.asking.canAsk()
    // kistd does not report that it was locked, and the index does not notice it. Only a locked
    // item leads to a prompt, and no search may find nothing because kist is locked.
    if !canAsk, !mustProveOpen, isReady {
      let stored = storedPaths(attributes, in: collection)
      if !stored.isEmpty { return (stored + fromMemory, []) }
    }
    do throws(ServiceError) {
      if !(try await isOpen()) { noteLocked(.locked("the storage is locked")) }
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

  private var mustProveOpen: Bool { provedOpenAt.map { .now - $0 >= openTrust } ?? true }

  func storedPaths(_ attributes: Attributes, in collection: String?) -> [String] {
    // Each access to the property copies its arrays' references.
    let index = index
    return index.find(attributes, in: collection).map { index.path(at: $0).path }
  }

  private func pathsInMemory(_ attributes: Attributes) -> [String] {
    memory.find(attributes).map {
      ObjectPath.item(collection: Collection.session, item: $0).path
    }
  }

  /// Keeps a search of a program, and returns the path for it.
  ///
  /// A search that is no longer kept would look as if it found nothing. So none is dropped.
  private func keep(_ search: LockedSearch) throws(ServiceError) -> String {
    try checkPresence(of: search.client)
    let size = search.attributes.size
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
