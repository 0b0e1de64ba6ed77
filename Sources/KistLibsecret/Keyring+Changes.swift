internal import KistCore

extension Keyring {
  /// Makes the new item, sees that the keyring keeps it as it is, and only then deletes the old one:
  /// wherever it is cut off, one of them is there, and the next save deletes what was left.
  func save(_ request: SaveRequest) async throws(StorageError) -> CredentialSummary {
    try await change { deadline in
      let key = request.credential.key
      let (service, collection, items) = try await asking(by: deadline) { service in
        let items = try await service.items(of: key, by: deadline)
        return (service, try await service.openCollection(by: deadline), items)
      }
      try request.condition.check(against: items.first?.summary.revision)
      let bookkeeping = Bookkeeping(
        request.credential, after: items.first, revision: nextRevision(), at: options.now())
      let path = try await begun(with: service) {
        try await service.create(request.credential, bookkeeping, in: collection, by: deadline)
      }
      tell(of: Item(of: key, at: path, bookkeeping), at: path)
      // The new one is there, whatever becomes of the old ones.
      for item in items.reversed() { try? await service.delete(item.path, by: deadline) }
      return bookkeeping.summary(of: key)
    }
  }

  /// Deletes the newest item last: wherever it is cut off, that is what is loaded.
  func delete(_ request: DeleteRequest) async throws(StorageError) -> Bool {
    try await change { deadline in
      let (service, items) = try await asking(by: deadline) { service in
        let items = try await service.items(of: request.key, by: deadline)
        if items.isEmpty { _ = try await service.openCollection(by: deadline) }
        return (service, items)
      }
      if let expected = request.ifRevision {
        try Condition.ifRevision(expected).check(against: items.first?.summary.revision)
      }
      try await begun(with: service) {
        for item in items.reversed() {
          try await service.delete(item.path, by: deadline)
          tell(of: nil, at: item.path)
        }
      }
      return !items.isEmpty
    }
  }

  /// Carries out a change alone; an error says that nothing was changed, unless it says otherwise.
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

  /// From here on, what gets no answer may have been carried out.
  private func begun<Answer>(
    with service: SecretService, _ body: () async throws -> Answer
  ) async throws -> Answer {
    do { return try await body() } catch let error as BusError where error.leavesOutcomeOpen {
      if error == .disconnected { disconnect(from: service) }
      throw StorageError(error, deadline: options.deadline).withOutcome(.unknown)
    }
  }
}

extension BusError {
  fileprivate var leavesOutcomeOpen: Bool {
    switch self {
    case .timeout, .disconnected, .malformed: true
    case .unreachableBus, .wrongBusAddress, .noOwner, .startFailed, .noSuchObject, .locked,
      .dismissed, .refused:
      false
    }
  }
}

extension SecretService {
  /// Makes an item beside those of its key and reads it back: providers have been seen to answer that
  /// they stored what they did not, or not as it was.
  ///
  /// What is not as it should be is deleted again, if it is the new item; else what became of the
  /// change is `unknown`.
  fileprivate func create(
    _ credential: NewCredential, _ bookkeeping: Bookkeeping, in collection: ObjectPath,
    by deadline: Deadline
  ) async throws -> ObjectPath {
    let value = ItemValue.encode(credential.secret)
    let known = Set(try await search(Item.attributes(of: credential.key), by: deadline))
    let path = try await createItem(
      in: collection,
      label: credential.label ?? "\(credential.key.service) \(credential.key.account)",
      attributes: Item.attributes(of: credential.key, bookkeeping), value: value, by: deadline)
    do {
      guard !known.contains(path) else {
        throw StorageError.notKept("the keyring changed an item instead of making one")
      }
      guard let stored = try await self.value(of: path, by: deadline) else {
        throw StorageError.notKept("the keyring said that it kept the credential, and did not")
      }
      guard
        stored == value,
        try await item(at: path, by: deadline)?.summary == bookkeeping.summary(of: credential.key)
      else { throw StorageError.notKept("the keyring altered the credential") }
      return path
    } catch {
      guard try await isGone(path, of: credential.key, besides: known, by: deadline) else {
        throw (error as? StorageError ?? StorageError.notKept("the keyring kept no credential"))
          .withOutcome(.unknown)
      }
      throw error
    }
  }

  /// Deletes an item that was just made; false where it is another one, or stays.
  private func isGone(
    _ path: ObjectPath, of key: CredentialKey, besides known: Set<ObjectPath>,
    by deadline: Deadline
  ) async throws -> Bool {
    guard !known.contains(path) else { return false }
    let isThere: () async throws -> Bool = {
      try await self.search(Item.attributes(of: key), by: deadline).contains(path)
    }
    guard try await isThere() else { return true }
    try? await delete(path, by: deadline)
    return try await !isThere()
  }
}
