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
    if identifier == Collection.session, var session = collections[identifier] {
      session.label = label.asLabel ?? ""
      return note(session)
    }
    try await ready()
    try await change(identifier) { $0.label = label.asLabel ?? "" }
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
      if try await save(collection.record(over: nil), if: .ifAbsent) { return collection.path }
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
        try await change(collection.identifier) { $0.isDefault = isNew }
      }
    }
  }

  /// Deletes a collection without items; for one with items, returns the path of a prompt.
  package func deleteCollection(
    _ identifier: String, for client: String
  ) async throws(ServiceError) -> String {
    try await ready()
    guard collections.recorded.contains(where: { $0.identifier == identifier }) else {
      throw collections[identifier] == nil
        ? .noSuchObject : .notSupported("the collections login and session cannot be deleted")
    }
    if try await delete(identifier, with: []) { return ObjectPath.none }
    guard await functions.asking.canConfirm() else {
      throw .denied(
        "the collection has items, and the user cannot be asked; delete them first, nothing was "
          + "deleted")
    }
    return ObjectPath.prompt(try makePrompt(to: .delete(collection: identifier), for: client)).path
  }

  /// Deletes items of a collection, and then the collection; returns `false` if it has other items.
  func delete(
    _ identifier: String, with items: [CredentialKey]
  ) async throws(ServiceError) -> Bool {
    // Before an item is deleted: what another client saved there must not be lost.
    let record = try await record(of: identifier)
    var deleted = 0
    do throws(ServiceError) {
      for key in items where self.collection(of: key) == identifier {
        _ = try await perform { () throws(StorageError) in
          try await functions.storage.delete(key)
        }
        noteDeletion(of: key)
        deleted += 1
      }
      guard paths(in: identifier).isEmpty else { return false }
      try await perform { () throws(StorageError) in
        if let summary = record?.summary {
          _ = try await functions.storage.delete(
            DeleteRequest(key: summary.key, ifRevision: summary.revision))
        }
      }
      noteDeletion(ofCollection: identifier)
      return true
    } catch {
      throw ServiceError(
        error.name,
        "\(error.message). Of its \(items.count) credentials, \(deleted) were deleted")
    }
  }

  /// The collection of a credential, as far as it is known.
  private func collection(of key: CredentialKey) -> String? {
    guard let place = index.place(of: key), case .item(let collection, _) = index.path(at: place)
    else { return nil }
    return collection
  }

  private func checkLabel(_ label: String) throws(ServiceError) {
    guard label.utf8.count <= ServiceLimits.collectionLabel else {
      throw .overLimit(
        "a collection's label may have \(ServiceLimits.collectionLabel) bytes; nothing was changed")
    }
  }

  /// Changes the record of a collection, as kistd has it now.
  private func change(
    _ identifier: String, _ body: (inout Collection) -> Void
  ) async throws(ServiceError) {
    for _ in 0..<Self.attempts {
      let old = try await record(of: identifier)
      guard var changed = old.map({ Collection(recordedBy: $0.summary) }) ?? collections[identifier]
      else { throw .noSuchObject }
      body(&changed)
      let condition = old.map { Condition.ifRevision($0.summary.revision) } ?? .ifAbsent
      if try await save(changed.record(over: old), if: condition) { return }
    }
    throw .overLimit("other programs keep changing the collection; nothing was changed")
  }

  /// Reads the credential that records a collection; `nil` if the login collection has none.
  private func record(of identifier: String) async throws(ServiceError) -> Credential? {
    let key = Collection.recordKey(identifier)
    let found: Credential?
    do throws(ServiceError) {
      found = try await perform { () throws(StorageError) in
        try await functions.storage.load(LoadRequest(key: key, allowExpired: true))
      }
    } catch {
      guard error == .noSuchObject else { throw error }
      found = nil
    }
    guard let found else {
      if identifier == Collection.login { return nil }
      noteDeletion(ofCollection: identifier)
      throw .noSuchObject
    }
    guard found.summary.recordsCollection else {
      note(found.summary)
      throw .foreignRecord
    }
    return found
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
