package import KistCore
internal import KistInterop

/// What a program gives for a new item.
package struct NewItem: Sendable {
  package var label: String
  package var attributes: Attributes
  package var secret: SentSecret
  /// Whether to replace the item with exactly these attributes, if there is one.
  package var replacesExact: Bool

  package init(
    label: String, attributes: Attributes, secret: SentSecret, replacesExact: Bool
  ) {
    self.label = label
    self.attributes = attributes
    self.secret = secret
    self.replacesExact = replacesExact
  }
}

extension SecretService {
  /// Saves an item and returns its path.
  ///
  /// An item is replaced only if it has exactly the same attributes. The specification of other
  /// providers, the first item that a search finds, would lose items with more attributes.
  package func create(
    _ item: NewItem, in collection: String, for client: String
  ) async throws(ServiceError) -> String {
    try ItemAttributes.check(item.attributes)
    try ItemAttributes.check(contentType: item.secret.contentType)
    try ItemAttributes.check(label: item.label)
    let secret = try sessions.decoded(item.secret, for: client)
    if collection == Collection.session { return try createInMemory(item, secret) }
    try await ready()
    guard collections[collection] != nil else { throw .noSuchObject }
    guard item.replacesExact else {
      return try await createInStorage(item, secret, in: collection)
    }
    return try await inTurn(hashing.hash(item.attributes, in: collection)) {
      () throws(ServiceError) in try await createInStorage(item, secret, in: collection)
    }
  }

  private func createInStorage(
    _ item: NewItem, _ secret: Secret, in collection: String
  ) async throws(ServiceError) -> String {
    for attempt in 0..<Self.attempts {
      var saved = try await replacedItem(item, secret, in: collection)
      if saved == nil {
        saved = try await savedItem(item, secret, in: collection, attempt: attempt)
      }
      if let saved, let place = index.place(of: saved) { return index.path(at: place).path }
    }
    throw .overLimit("other programs keep changing the item; nothing was saved")
  }

  private func createInMemory(_ new: NewItem, _ secret: Secret) throws(ServiceError) -> String {
    let old = new.replacesExact ? memory.find(new.attributes, exactly: true).first : nil
    let now = functions.now()
    let item = MemoryItems.Item(
      label: new.label.asLabel ?? "", attributes: new.attributes, secret: secret,
      contentType: new.secret.contentType, createdAt: old.flatMap { memory[$0]?.createdAt } ?? now,
      modifiedAt: now)
    let identifier: String
    if let old {
      (identifier, _) = (old, try memory.set(item, at: old))
    } else {
      identifier = try memory.add(item)
    }
    collections.touch(Collection.session, at: now)
    let path = ObjectPath.item(collection: Collection.session, item: identifier).path
    emit(
      .item(
        old == nil ? .created : .changed,
        collection: ObjectPath.collection(Collection.session).path, path: path))
    if old == nil { noteChange(of: Collection.session) }
    return path
  }

  /// Replaces the item with exactly the same attributes; returns `nil` if there is none, or if
  /// another program changed it at the same time.
  private func replacedItem(
    _ item: NewItem, _ secret: Secret, in collection: String
  ) async throws(ServiceError) -> CredentialKey? {
    guard item.replacesExact else { return nil }
    for place in index.find(item.attributes, exactly: true, in: collection) {
      let key = index.key(at: place)
      let found = try await perform { () throws(StorageError) in try await self.summary(of: key) }
      guard let summary = found, summary.collection == collection,
        ItemAttributes.visible(of: summary) == item.attributes
      else {
        try await perform { () throws(StorageError) in try await self.reread(key) }
        continue
      }
      let stored = ItemAttributes.stored(
        item.attributes, contentType: item.secret.contentType, over: summary)
      let credential = NewCredential(
        key: key, secret: secret, label: item.label.asLabel, attributes: stored)
      if try await save(credential, if: .ifRevision(summary.revision)) { return key }
    }
    return nil
  }

  /// Saves a new item; returns `nil` if another credential has its key.
  private func savedItem(
    _ item: NewItem, _ secret: Secret, in collection: String, attempt: Int
  ) async throws(ServiceError) -> CredentialKey? {
    // A lock meanwhile has emptied the index.
    try await ready()
    if item.replacesExact, !index.find(item.attributes, exactly: true, in: collection).isEmpty {
      return nil
    }
    let mark = Attributes.newItemMark()
    let key = freeKey(for: item, mark: mark, attempt: attempt)
    var credential = NewCredential(
      item: item.attributes, label: item.label.asLabel ?? "", secret: secret,
      contentType: item.secret.contentType, key: key, mark: mark)
    if collection != Collection.login {
      credential.attributes[ItemAttributes.collection] = collection
    }
    return try await save(credential, if: .ifAbsent) ? key : nil
  }

  /// Returns the key for a new item: the natural one of its attributes, if it is free.
  ///
  /// Otherwise the service is the schema or the label, and the account may get a suffix.
  private func freeKey(for item: NewItem, mark: String, attempt: Int) -> CredentialKey {
    let natural = naturalKey(ofItemWith: item.attributes).flatMap {
      $0.isWithinLimits && !Attributes.isReserved($0.service) ? $0 : nil
    }
    if attempt == 0, let natural, index.place(of: natural) == nil { return natural }
    let schema = item.attributes[Attributes.schemaName]?.asKeyPart
    let label = item.label.asKeyPart
    // kist keeps its records of collections under services with a reserved name.
    let service =
      [schema, label].compactMap(\.self).first { !$0.isEmpty && !Attributes.isReserved($0) }
      ?? "item"
    let account = natural?.account ?? (service == label ? "" : label)
    let plain = CredentialKey(service: service, account: account)
    if attempt <= 1, plain.isWithinLimits, index.place(of: plain) == nil { return plain }
    // The suffix is random, because counting would take longer with each item.
    let suffix = String(mark.prefix(8))
    return CredentialKey(
      service: service, account: account.isEmpty ? suffix : account.asKeyPart + " " + suffix)
  }
}

extension String {
  /// The text without control characters, shortened to 1,000 bytes.
  var asKeyPart: String {
    var part = ""
    for scalar in unicodeScalars where scalar.properties.generalCategory != .control {
      guard part.utf8.count + 4 <= 1000 else { break }
      part.unicodeScalars.append(scalar)
    }
    return part
  }
}
