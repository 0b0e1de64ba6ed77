package import KistCore
internal import KistInterop

/// An item, as a path leads to it.
enum FoundItem {
  case stored(CredentialKey)
  case inMemory(String)
}

extension SecretService {
  /// Returns the item of a path.
  func item(_ path: ObjectPath) async throws(ServiceError) -> FoundItem {
    guard case .item(let collection, let item) = path else { throw .noSuchObject }
    if let search = lockedSearches[item] {
      // Once kist is unlocked, the first item that the search finds.
      try await ready()
      let found = index.find(search.attributes, in: search.collection)
      guard let first = found.first else { throw .noSuchObject }
      return .stored(index.key(at: first))
    }
    if collection == Collection.session {
      guard memory[item] != nil else { throw .noSuchObject }
      return .inMemory(item)
    }
    try await ready()
    // Each access to the property copies its arrays' references.
    let index = index
    guard let place = index.place(ofItem: item, in: collection) else { throw .noSuchObject }
    return .stored(index.key(at: place))
  }

  // MARK: - Properties

  package func properties(ofItem path: ObjectPath) async throws(ServiceError) -> [Property] {
    let found: FoundItem
    do throws(ServiceError) { found = try await item(path) } catch {
      // libsecret reads the properties of a locked item before it unlocks it.
      guard error == .isLocked, case .item(_, let item) = path, let search = lockedSearches[item]
      else { throw error }
      return [
        Property("Locked", .flag(true)),
        Property("Attributes", .texts(search.attributes)),
        Property("Label", .text("Locked")), Property("Created", .seconds(0)),
        Property("Modified", .seconds(0)),
      ]
    }
    switch found {
    case .inMemory(let identifier):
      let item = memory[identifier]!
      return [
        Property("Locked", .flag(false)), Property("Attributes", .texts(item.attributes)),
        Property("Label", .text(item.label)),
        Property("Created", .seconds(item.createdAt.busSeconds)),
        Property("Modified", .seconds(item.modifiedAt.busSeconds)),
      ]
    case .stored(let key):
      let summary = try await currentSummary(of: key)
      return [
        Property("Locked", .flag(false)),
        Property("Attributes", .texts(ItemAttributes.visible(of: summary))),
        Property("Label", .text(summary.shownLabel)),
        Property("Created", .seconds(summary.createdAt.busSeconds)),
        Property("Modified", .seconds(summary.modifiedAt.busSeconds)),
      ]
    }
  }

  package func isItemLocked(_ path: ObjectPath) async throws(ServiceError) -> Bool {
    do throws(ServiceError) { _ = try await item(path) } catch {
      guard error == .isLocked else { throw error }
      return true
    }
    return false
  }

  private func currentSummary(
    of key: CredentialKey
  ) async throws(ServiceError) -> CredentialSummary {
    let found = try await perform { () throws(StorageError) in try await self.summary(of: key) }
    guard let summary = found else {
      noteDeletion(of: key)
      throw .noSuchObject
    }
    return summary
  }

  package func setLabel(_ label: String, of path: ObjectPath) async throws(ServiceError) {
    try ItemAttributes.check(label: label)
    switch try await item(path) {
    case .inMemory(let identifier):
      try changeMemory(identifier, at: path) { $0.label = label.asLabel ?? "" }
    case .stored(let key):
      try await change(key) { credential in
        NewCredential(
          key: key, secret: credential.secret, label: label.asLabel,
          attributes: credential.summary.attributes, expiresAt: credential.summary.expiresAt)
      }
    }
  }

  package func setAttributes(
    _ attributes: Attributes, of path: ObjectPath
  ) async throws(ServiceError) {
    try ItemAttributes.check(attributes)
    switch try await item(path) {
    case .inMemory(let identifier):
      try changeMemory(identifier, at: path) { $0.attributes = attributes }
    case .stored(let key):
      try await change(key) { credential in
        let summary = credential.summary
        let stored = ItemAttributes.stored(
          attributes, contentType: summary.contentType, over: summary)
        return NewCredential(
          key: key, secret: credential.secret, label: summary.label, attributes: stored,
          expiresAt: summary.expiresAt)
      }
    }
  }

  private func changeMemory(
    _ identifier: String, at path: ObjectPath, _ body: (inout MemoryItems.Item) -> Void
  ) throws(ServiceError) {
    guard var item = memory[identifier] else { throw .noSuchObject }
    body(&item)
    item.modifiedAt = functions.now()
    try memory.set(item, at: identifier)
    collections.touch(Collection.session, at: item.modifiedAt)
    emit(
      .item(
        .changed, collection: ObjectPath.collection(Collection.session).path, path: path.path))
  }

  /// Saves a changed credential, and again where another program changes it at the same time.
  private func change(
    _ key: CredentialKey, _ body: (Credential) -> NewCredential
  ) async throws(ServiceError) {
    try await inTurn(hashing.hash(key)) { () throws(ServiceError) in
      for _ in 0..<Self.attempts {
        let credential = try await perform { () throws(StorageError) in
          try await functions.storage.load(LoadRequest(key: key, allowExpired: true))
        }
        let condition = Condition.ifRevision(credential.summary.revision)
        if try await save(body(credential), if: condition) { return }
      }
      throw .overLimit("other programs keep changing the item; nothing was changed")
    }
  }

  /// How often a change is tried while other clients of kistd change the same credential.
  static var attempts: Int { 64 }

  /// Saves a credential if the condition holds, and returns whether it does.
  func save(
    _ credential: NewCredential, if condition: Condition
  ) async throws(ServiceError) -> Bool {
    let saved = try await perform { () throws(StorageError) -> CredentialSummary? in
      do throws(StorageError) {
        return try await functions.storage.save(credential, if: condition)
      } catch {
        guard error.code == .conflict else { throw error }
        return nil
      }
    }
    guard let saved else {
      // Another program was faster; what it did counts from now on.
      try await perform { () throws(StorageError) in try await self.reread(credential.key) }
      return false
    }
    note(saved)
    return true
  }

  // MARK: - Secrets

  package func secret(
    of path: ObjectPath, in session: String, for client: String
  ) async throws(ServiceError) -> SentSecret {
    // A missing session is an error even if the item is missing, too.
    try sessions.require(session, of: client)
    let (secret, contentType) = try await plainSecret(of: path)
    return try sessions.encoded(secret, contentType: contentType, in: session, for: client)
  }

  /// Returns the secrets of the items that exist and are not locked; one for a repeated path.
  package func secrets(
    of paths: [String], in session: String, for client: String
  ) async throws(ServiceError) -> [(path: String, secret: SentSecret)] {
    try sessions.require(session, of: client)
    let objects = paths.map(object(at:))
    try checkSearches(objects, of: client)
    var found: [(path: String, secret: SentSecret)] = []
    var size = 0
    var seen: Set<String> = []
    for (path, object) in zip(paths, objects) where seen.insert(path).inserted {
      guard let object else { continue }
      do throws(ServiceError) {
        let (secret, contentType) = try await plainSecret(of: object)
        let sent = try sessions.encoded(
          secret, contentType: contentType, in: session, for: client)
        size += path.utf8.count + sent.size
        found.append((path, sent))
      } catch {
        // If all of kist is locked, an answer without the item would look as if it did not exist.
        guard error == .noSuchObject || error == Self.expired else { throw error }
      }
      if size > ServiceLimits.replyBytes {
        throw .overLimit("the reply has over \(ServiceLimits.replyBytes) bytes; ask for fewer")
      }
    }
    return found
  }

  private static var expired: ServiceError {
    ServiceError("org.freedesktop.DBus.Error.Failed", "the credential has expired; save a new one")
  }

  private func plainSecret(
    of path: ObjectPath
  ) async throws(ServiceError) -> (secret: Secret, contentType: String) {
    switch try await item(path) {
    case .inMemory(let identifier):
      let item = memory[identifier]!
      return (item.secret, item.contentType)
    case .stored(let key):
      let loaded = try await perform { () throws(StorageError) -> Credential? in
        do throws(StorageError) { return try await functions.storage.load(key) } catch {
          guard error.code == .expired else { throw error }
          return nil
        }
      }
      guard let loaded else { throw Self.expired }
      provedOpenAt = .now
      return (loaded.secret, loaded.summary.contentType)
    }
  }

  package func setSecret(
    _ sent: SentSecret, of path: ObjectPath, for client: String
  ) async throws(ServiceError) {
    try ItemAttributes.check(contentType: sent.contentType)
    let secret = try sessions.decoded(sent, for: client)
    switch try await item(path) {
    case .inMemory(let identifier):
      try changeMemory(identifier, at: path) {
        $0.secret = secret
        $0.contentType = sent.contentType
      }
    case .stored(let key):
      try await change(key) { credential in
        let summary = credential.summary
        let stored = ItemAttributes.stored(
          ItemAttributes.visible(of: summary), contentType: sent.contentType, over: summary)
        return NewCredential(key: key, secret: secret, label: summary.label, attributes: stored)
      }
    }
  }

  package func deleteItem(_ path: ObjectPath) async throws(ServiceError) {
    switch try await item(path) {
    case .inMemory(let identifier):
      try memory.remove(identifier)
      collections.touch(Collection.session, at: functions.now())
      emit(
        .item(
          .deleted, collection: ObjectPath.collection(Collection.session).path, path: path.path))
      noteChange(of: Collection.session)
    case .stored(let key):
      let existed = try await perform { () throws(StorageError) in
        try await functions.storage.delete(key)
      }
      noteDeletion(of: key)
      if !existed { throw .noSuchObject }
    }
  }
}
