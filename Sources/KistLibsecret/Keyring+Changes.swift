internal import KistCore

extension Keyring {
  /// Makes the new item, checks that the keyring keeps it unchanged, and then deletes the old one.
  ///
  /// If it is interrupted, at least one of the two exists. The next save deletes a leftover item.
  func save(_ request: SaveRequest) async throws(StorageError) -> CredentialSummary {
    try await change { deadline in
      let (provider, collection, items) = try await asking(by: deadline) { provider in
        let items = try await provider.items(of: request.credential.key)
        return (provider, try await provider.openCollection(), items)
      }
      try request.condition.check(against: items.first?.summary.revision)
      let now = options.now()
      let credential = try request.credential(keepingPartsOf: items.first?.summary, at: now)
      let bookkeeping = Bookkeeping(
        credential, after: items.first, revision: nextRevision(), at: now)
      let path = try await begun(with: provider) {
        try await provider.create(credential, bookkeeping, in: collection)
      }
      tell(of: Item(at: path, bookkeeping), at: path)
      // The new item exists, so the save succeeds even if an old item remains.
      for item in items.reversed() { try? await provider.delete(item.path) }
      return bookkeeping.summary
    }
  }

  /// Deletes the newest item last, so that an interrupted deletion leaves the current credential.
  func delete(_ request: DeleteRequest) async throws(StorageError) -> Bool {
    try await change { deadline in
      let (provider, items) = try await asking(by: deadline) { provider in
        let items = try await provider.items(of: request.key)
        if items.isEmpty { _ = try await provider.openCollection() }
        return (provider, items)
      }
      try request.condition.check(against: items.first?.summary.revision)
      try await begun(with: provider) {
        for item in items.reversed() {
          try await provider.delete(item.path)
          tell(of: nil, at: item.path)
        }
      }
      return !items.isEmpty
    }
  }

  /// Performs one change at a time; a failed one changed nothing, unless its error says otherwise.
  private func change<Answer: Sendable>(
    _ body: (Deadline) async throws -> Answer
  ) async throws(StorageError) -> Answer {
    do throws(StorageError) {
      return try await perform { deadline in
        await changes.enter()
        defer { changes.leave() }
        return try await body(deadline)
      }
    } catch { throw error.withOutcome(.unchanged) }
  }

  /// Runs the part of a change that may have been performed even without an answer.
  private func begun<Answer>(
    with provider: Provider, _ body: () async throws -> Answer
  ) async throws -> Answer {
    do { return try await body() } catch let error as BusError
      where [.timeout, .disconnected, .malformed].contains(error)
    {
      if error == .disconnected { disconnect(from: provider.service) }
      throw StorageError(error, deadline: options.deadline).withOutcome(.unknown)
    }
  }
}

extension Provider {
  /// Makes an item beside those of its key and reads it back.
  ///
  /// Some providers report that they stored an item when they did not, or changed it. If the new
  /// item is wrong, it is deleted again. If that is not possible, the outcome of the change is
  /// `unknown`.
  fileprivate func create(
    _ credential: NewCredential, _ bookkeeping: Bookkeeping, in collection: ObjectPath
  ) async throws -> ObjectPath {
    let value = ItemValue.encode(credential.secret)
    let known = Set(try await search(Item.attributes(of: credential.key)))
    let path = try await createItem(
      in: collection,
      label: credential.label ?? "\(credential.key.service) \(credential.key.account)",
      attributes: Item.attributes(of: bookkeeping), value: value)
    do {
      guard !known.contains(path) else {
        throw StorageError.notKept("the keyring changed an item instead of making one")
      }
      guard let stored = try await self.value(of: path) else {
        throw StorageError.notKept("the keyring reported success, but did not store the credential")
      }
      guard
        stored == value,
        try await item(at: path)?.summary == bookkeeping.summary
      else { throw StorageError.notKept("the keyring altered the credential") }
      return path
    } catch {
      guard try await isGone(path, of: credential.key, besides: known) else {
        throw (error as? StorageError ?? StorageError.notKept("the keyring stored no credential"))
          .withOutcome(.unknown)
      }
      throw error
    }
  }

  /// Deletes an item that was just made, and returns whether it is gone; keeps any older item.
  private func isGone(
    _ path: ObjectPath, of key: CredentialKey, besides known: Set<ObjectPath>
  ) async throws -> Bool {
    guard !known.contains(path) else { return false }
    func isThere() async throws -> Bool {
      try await search(Item.attributes(of: key)).contains(path)
    }
    guard try await isThere() else { return true }
    try? await delete(path)
    return try await !isThere()
  }
}
