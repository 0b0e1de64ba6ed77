internal import KistCore

extension SecretService {
  /// The paths of all collections that are known, the login collection first.
  var collectionPaths: [String] { collections.all.map(\.path) }

  /// Returns the paths of all collections; while kist is locked, of those that are known.
  package func knownCollections() async throws(ServiceError) -> [String] {
    do throws(ServiceError) { try await ready() } catch  where error == .isLocked {}
    return collectionPaths
  }

  /// Returns the path of an alias's collection, or `/`.
  package func collection(ofAlias alias: String) async throws(ServiceError) -> String {
    do throws(ServiceError) { try await ready() } catch  where error == .isLocked {}
    return collections.identifier(ofAlias: alias).map { ObjectPath.collection($0).path }
      ?? ObjectPath.none
  }

  package func properties(ofCollection identifier: String) async throws(ServiceError) -> [Property]
  {
    let isInMemory = identifier == Collection.session
    // Before kist is read, no answer about its items is true.
    if !isInMemory {
      do throws(ServiceError) { try await ready() } catch  where error == .isLocked {}
    }
    guard let collection = collections[identifier] else { throw .noSuchObject }
    return [
      Property("Items", .paths(paths(in: identifier))), Property("Label", .text(collection.label)),
      Property("Locked", .flag(isLocked && !isInMemory)),
      Property("Created", .seconds(collection.createdAt.busSeconds)),
      Property("Modified", .seconds(collection.modifiedAt.busSeconds)),
    ]
  }

  /// Returns the label; for the default collection without kistd, because many programs read it.
  package func label(ofCollection identifier: String) async throws(ServiceError) -> String {
    if collections[identifier] == nil { try await ready() }
    guard let collection = collections[identifier] else { throw .noSuchObject }
    return collection.label
  }

  package func setLabel(_ label: String, ofCollection identifier: String) async throws(ServiceError)
  {
    try checkLabel(label)
    if identifier != Collection.session { try await ready() }
    guard var changed = collections[identifier] else { throw .noSuchObject }
    changed.label = label
    if identifier == Collection.session { return note(changed) }
    try await save(changed, if: .always)
  }

  /// Makes a collection and returns its path; one that the alias leads to already is returned.
  package func createCollection(
    label: String, alias: String
  ) async throws(ServiceError) -> String {
    try checkLabel(label)
    try await ready()
    if let existing = collections.identifier(ofAlias: alias) {
      return ObjectPath.collection(existing).path
    }
    guard alias.isEmpty else { throw .notSupported("kist has only the alias default") }
    guard collections.recorded.count < ServiceLimits.collections else {
      throw .overLimit("there may be \(ServiceLimits.collections) collections; nothing was made")
    }
    for _ in 0..<Self.attempts {
      let now = functions.now()
      let collection = Collection(
        identifier: collections.newIdentifier(for: label), label: label, createdAt: now,
        modifiedAt: now)
      if try await save(collection, if: .ifAbsent) { return collection.path }
    }
    throw .overLimit("other programs keep making collections; nothing was made")
  }

  package func setAlias(_ alias: String, to path: String) async throws(ServiceError) {
    guard alias == "default" else { throw .notSupported("kist has only the alias default") }
    try await ready()
    let target: String
    switch path == ObjectPath.none ? .collection(Collection.login) : object(at: path) {
    case .collection(let identifier)? where collections[identifier] != nil: target = identifier
    default: throw .noSuchObject
    }
    guard target != Collection.session else {
      throw .notSupported("the collection in memory cannot be the default one")
    }
    // The new one first, so that an interruption leaves a default collection.
    for isNew in [true, false] {
      for collection in collections.recorded
      where (collection.identifier == target) == isNew && collection.isDefault != isNew {
        var changed = collection
        changed.isDefault = isNew
        try await save(changed, if: .always)
      }
    }
  }

  /// Deletes a collection with its items.
  package func deleteCollection(_ identifier: String) async throws(ServiceError) {
    try await ready()
    guard collections.recorded.contains(where: { $0.identifier == identifier }) else {
      throw collections[identifier] == nil
        ? .noSuchObject : .notSupported("the collections login and session cannot be deleted")
    }
    for place in index.find([:], in: identifier) {
      let key = index.key(at: place)
      _ = try await perform { () throws(StorageError) in try await functions.storage.delete(key) }
      noteDeletion(of: key)
    }
    let key = Collection.recordKey(identifier)
    _ = try await perform { () throws(StorageError) in try await functions.storage.delete(key) }
    noteDeletion(ofCollection: identifier)
  }

  /// Whether a collection has no items.
  package func isEmpty(_ identifier: String) async throws(ServiceError) -> Bool {
    try await ready()
    return paths(in: identifier).isEmpty
  }

  private func checkLabel(_ label: String) throws(ServiceError) {
    guard label.utf8.count <= ServiceLimits.collectionLabel else {
      throw .overLimit(
        "a collection's label may have \(ServiceLimits.collectionLabel) bytes; nothing was changed")
    }
  }

  @discardableResult
  private func save(
    _ collection: Collection, if condition: Condition
  ) async throws(ServiceError) -> Bool {
    try await save(
      NewCredential(
        key: Collection.recordKey(collection.identifier), secret: Secret(copying: []),
        label: collection.label.isEmpty ? nil : collection.label,
        attributes: collection.recordAttributes), if: condition)
  }

  /// Takes a recorded collection, and reports what changed.
  func note(_ collection: Collection) {
    let old = collections[collection.identifier]
    guard old != collection else { return }
    collections.set(collection)
    announce(collection, isNew: old == nil)
    if old == nil { announceCollections() }
  }

  private func announce(_ collection: Collection, isNew: Bool) {
    emit(.collection(isNew ? .created : .changed, path: collection.path))
    if isNew { return }
    emit(
      .properties(
        path: collection.path, interface: InterfaceName.collection,
        [
          Property("Label", .text(collection.label)),
          Property("Modified", .seconds(collection.modifiedAt.busSeconds)),
        ]))
  }

  func noteDeletion(ofCollection identifier: String) {
    if identifier == Collection.login, var login = collections[identifier] {
      login.label = Collection.loginLabel
      return note(login)
    }
    guard let collection = collections.recorded.first(where: { $0.identifier == identifier }) else {
      return
    }
    collections.remove(identifier)
    emit(.collection(.deleted, path: collection.path))
    announceCollections()
  }

  /// Reports the collections that were added, renamed and removed while no watch reported them.
  func announceCollections(from old: Collections) {
    for collection in old.all where collections[collection.identifier] == nil {
      emit(.collection(.deleted, path: collection.path))
    }
    for collection in collections.all {
      let before = old[collection.identifier]
      if before?.label != collection.label { announce(collection, isNew: before == nil) }
    }
    if old.identifiers != collections.identifiers { announceCollections() }
  }

  private func announceCollections() {
    emit(
      .properties(
        path: ObjectPath.root, interface: InterfaceName.service,
        [Property("Collections", .paths(collectionPaths))]))
  }
}
