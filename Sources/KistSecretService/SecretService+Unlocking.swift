internal import KistCore

extension SecretService {
  /// Returns the given paths of what is unlocked, and the path of a prompt for the others.
  ///
  /// A path of the result is the one that the program gave, even if it is an alias.
  package func unlock(
    _ paths: [String], for client: String
  ) async throws(ServiceError) -> (unlocked: [String], prompt: String) {
    try checkSearches(paths.map(object(at:)), of: client)
    if try await isOpen() {
      try await ready()
      return (paths.flatMap { opened($0) }, ObjectPath.none)
    }
    let unlocked = paths.filter { isInMemory($0) && exists($0) }
    let locked = paths.filter { !isInMemory($0) && mayExist($0) }
    if locked.isEmpty { return (unlocked, ObjectPath.none) }
    let prompt = try makePrompt(to: .unlock(locked), for: client)
    return (unlocked, ObjectPath.prompt(prompt).path)
  }

  /// Locks kist if any of the paths is of kistd, and returns the given paths of what is locked.
  package func lock(_ paths: [String]) async throws(ServiceError) -> [String] {
    let locked = paths.filter { !isInMemory($0) && mayExist($0) }
    if locked.isEmpty { return [] }
    let status = try await perform { () throws(StorageError) in try await functions.access.status()
    }
    // Any call would open it again.
    guard status.unlocksWith != .keyFile, status.unlocksWith != nil else { return [] }
    let after = try await perform { () throws(StorageError) in try await functions.access.lock() }
    guard after.isLocked else { return [] }
    noteLocked(.locked("the storage is locked"))
    return locked
  }

  /// Returns whether kist is unlocked, opening it if that needs no user.
  func isOpen() async throws(ServiceError) -> Bool {
    do throws(StorageError) {
      let isOpen = try await opensUnattended()
      if isOpen { provedOpenAt = .now }
      return isOpen
    } catch { throw ServiceError(error) }
  }

  private func isInMemory(_ path: String) -> Bool {
    switch object(at: path) {
    case .collection(Collection.session)?, .item(collection: Collection.session, item: _)?: true
    default: false
    }
  }

  /// Returns whether a path is of an object; while kist is locked, whether it can be of one.
  private func mayExist(_ path: String) -> Bool {
    switch object(at: path) {
    case .collection(let collection)?: collections[collection] != nil
    case .item(let collection, let item)?:
      isLocked
        ? collections[collection] != nil : index.place(ofItem: item, in: collection) != nil
    default: false
    }
  }

  /// Checks that the program itself made the searches that these paths take the place of.
  ///
  /// A search of which nothing is known must not look as if it found nothing.
  func checkSearches(_ objects: [ObjectPath?], of client: String) throws(ServiceError) {
    for object in objects {
      if let object, case .item(_, let item) = object, item.isOfLockedSearch,
        !exists(object, for: client)
      {
        throw .noSuchObject
      }
    }
  }

  private func exists(_ path: String) -> Bool {
    guard case .item(Collection.session, let item)? = object(at: path) else {
      return mayExist(path)
    }
    return memory[item] != nil
  }

  /// Returns what a path leads to once kist is unlocked: itself, or what a search finds.
  func opened(_ path: String) -> [String] {
    if case .item(_, let item)? = object(at: path), let search = lockedSearches[item] {
      return storedPaths(search.attributes, in: search.collection)
    }
    return exists(path) ? [path] : []
  }

  // MARK: - Sessions

  /// Opens a session and returns the output of the algorithm, and its path.
  package func openSession(
    _ algorithm: Algorithm, for client: String
  ) throws(ServiceError) -> (output: [UInt8]?, path: String) {
    try sessions.open(algorithm, for: client)
  }

  package func closeSession(_ identifier: String, of client: String) throws(ServiceError) {
    try sessions.close(identifier, of: client)
  }
}
