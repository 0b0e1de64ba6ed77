internal import KistCore

extension SecretService {
  /// Keeps the index as kistd has it, until the task is cancelled.
  ///
  /// After an error, it continues when `wake` is called.
  package func follow() async {
    while !Task.isCancelled {
      do throws(StorageError) {
        let changes = try await functions.watch()
        try await readAll()
        let iterator = changes.makeAsyncIterator()
        while let change = try await iterator.next() { try await take(change) }
        // kistd reports no change until the next watch begins.
        if case .ready = state { state = .unread }
      } catch {
        fail(with: error)
        whenLost(error)
        await withCheckedContinuation { follower = $0 }
      }
    }
  }

  /// Continues to follow kistd after an error.
  package func wake() {
    follower?.resume()
    follower = nil
  }

  /// Waits until the index is complete; throws the reason if kistd cannot be read.
  func ready() async throws(ServiceError) {
    while true {
      switch state {
      case .ready: return
      case .unread, .reading:
        // When this continues, the next reading may have begun, with an index that is not complete.
        if let error = await reading() { throw ServiceError(error) }
      case .failed where follower != nil:
        state = .unread
        wake()
      case .failed(let error):
        // The watch goes on. The storage may have been unlocked elsewhere, a moment ago.
        do throws(StorageError) {
          if error.code == .locked, !(try await opensUnattended()) { throw error }
          try await readAll()
        } catch { throw ServiceError(error) }
      }
    }
  }

  /// Waits until the reading of all items ends, and returns its error.
  private func reading() async -> StorageError? {
    await withCheckedContinuation { continuation in
      // The reading may have ended before this runs.
      switch state {
      case .unread, .reading: waiting.append(continuation)
      case .ready: continuation.resume(returning: nil)
      case .failed(let error): continuation.resume(returning: error)
      }
    }
  }

  var isReady: Bool { if case .ready = state { true } else { false } }

  private func fail(with error: StorageError) {
    state = .failed(error)
    resumeWaiting(with: error)
  }

  private func resumeWaiting(with error: StorageError?) {
    let resumed = waiting
    waiting = []
    for continuation in resumed { continuation.resume(returning: error) }
  }

  /// Reads all credentials.
  ///
  /// It does not throw if the storage is locked, because the watch reports when it is unlocked.
  func readAll() async throws(StorageError) {
    if case .reading = state {
      if let error = await reading(), error.code != .locked { throw error }
      return
    }
    state = .reading
    changedWhileReading = []
    lockedWhileReading = nil
    do throws(StorageError) {
      replaceAll(with: try await readItems())
      whenRead()
      for key in changedWhileReading { try await reread(key) }
      if let lockedWhileReading { throw lockedWhileReading }
      state = .ready
      setLocked(false)
      resumeWaiting(with: nil)
    } catch {
      state = .failed(error)
      if error.code == .locked { noteLocked(error) }
      resumeWaiting(with: error)
      if error.code != .locked { throw error }
    }
  }

  private func readItems() async throws(StorageError) -> ReadItems {
    func attempt() async throws(StorageError) -> ReadItems {
      var read = ReadItems(into: emptyIndex())
      try await eachPage(of: CredentialQuery(), functions.storage.find) {
        for summary in $0.credentials { read.add(summary) }
      }
      read.sort()
      return read
    }
    do throws(StorageError) { return try await attempt() } catch {
      guard error.code == .locked, try await opensUnattended() else { throw error }
      return try await attempt()
    }
  }

  private func replaceAll(with read: ReadItems) {
    let (old, oldCollections) = (index, collections)
    index = read.index
    collections.removeRecorded()
    for collection in read.collections { collections.set(collection) }
    for (collection, times) in read.times {
      collections.touch(collection, at: times.lowerBound)
      collections.touch(collection, at: times.upperBound)
    }
    // Before the first read and while kist was locked, no program could read a list of the items
    // that is wrong now. When kist is unlocked, all lists are announced.
    if isIndexed { announceDifference(from: old, in: oldCollections) }
    isIndexed = true
    announceCollections(from: oldCollections)
  }

  /// Reports the items that were added and removed while no watch reported them.
  private func announceDifference(from old: ItemIndex, in oldCollections: Collections) {
    for collection in Set(collections.identifiers).union(oldCollections.identifiers) {
      let path = ObjectPath.collection(collection).path
      let before = Set(old.paths(in: collection))
      let after = Set(index.paths(in: collection))
      for item in before.subtracting(after) {
        emit(.item(.deleted, collection: path, path: item.path))
      }
      for item in after.subtracting(before) {
        emit(.item(.created, collection: path, path: item.path))
      }
      if before != after { noteChange(of: collection) }
    }
  }

  private func take(_ change: CredentialChange) async throws(StorageError) {
    do throws(StorageError) {
      switch change {
      case .reset: try await readAll()
      case .saved(let key, let revision):
        if !index.isCurrent(key, revision) { try await reread(key) }
      case .deleted(let key, _):
        if !index.isCurrent(key, nil) || isRecord(key) { try await reread(key) }
      }
    } catch {
      // The watch goes on, because it reports when the storage is unlocked.
      guard error.code == .locked else { throw error }
      noteLocked(error)
    }
  }

  private func isRecord(_ key: CredentialKey) -> Bool {
    key == Collection.recordKey(key.account)
  }

  /// Reads one credential, and takes it into the index.
  func reread(_ key: CredentialKey) async throws(StorageError) {
    while true {
      let version = index.version(of: key)
      let summary = try await self.summary(of: key)
      // If the item changed meanwhile, what was read may be older than that change.
      guard index.version(of: key) == version else { continue }
      if let summary { note(summary) } else { noteDeletion(of: key) }
      return
    }
  }

  func summary(of key: CredentialKey) async throws(StorageError) -> CredentialSummary? {
    try await functions.storage.find(
      CredentialQuery(service: key.service, account: key.account, limit: 1)
    ).credentials.first
  }

  // MARK: - The index

  /// Takes the state of a credential into the index, and reports what changed.
  func note(_ summary: CredentialSummary) {
    if case .reading = state { changedWhileReading.insert(summary.key) }
    if let collection = Collection(recordedBy: summary) { return note(collection) }
    guard !summary.recordsCollection, !index.isCurrent(summary.key, summary.revision) else {
      return
    }
    let old = index.place(of: summary.key).map { index.path(at: $0) }
    index.insert(summary)
    let new = index.place(of: summary.key).map { index.path(at: $0) }!
    collections.touch(summary.collection, at: summary.modifiedAt)
    if let old, old != new { report(.deleted, old) }
    report(old == new ? .changed : .created, new)
    if old == new {
      emit(
        .properties(
          path: new.path, interface: InterfaceName.item,
          [
            Property("Label", .text(summary.shownLabel)),
            Property("Attributes", .texts(ItemAttributes.visible(of: summary))),
            Property("Modified", .seconds(summary.modifiedAt.busSeconds)),
          ]))
    }
  }

  func noteDeletion(of key: CredentialKey) {
    if case .reading = state { changedWhileReading.insert(key) }
    if isRecord(key) { noteDeletion(ofCollection: key.account) }
    guard let path = index.remove(key) else { return }
    if case .item(let collection, _) = path { collections.touch(collection, at: functions.now()) }
    report(.deleted, path)
  }

  private func report(_ change: ServiceSignal.Change, _ path: ObjectPath) {
    guard case .item(let collection, _) = path else { return }
    emit(.item(change, collection: ObjectPath.collection(collection).path, path: path.path))
    if change != .changed { noteChange(of: collection) }
  }
}

extension Timestamp {
  /// The time as the bus has it; earlier times than 1970 are 0.
  var busSeconds: UInt64 { UInt64(clamping: secondsSinceEpoch) }
}
