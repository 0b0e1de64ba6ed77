private import Synchronization

extension OpenStorage {
  /// Opens a storage that keeps credentials in memory as long as it lives, for tests and previews.
  ///
  /// It follows the same contract as every storage. Its durability is `memory`, and it cannot be
  /// locked.
  public static func inMemory(now: @escaping @Sendable () -> Timestamp = Timestamp.now)
    -> OpenStorage
  {
    let state = InMemory(now: now)
    var storage = OpenStorage(
      credentials: UserStorage(
        save: state.save, load: state.load, delete: state.delete, find: state.find
      ).enforcingLimits(now: now),
      access: StorageAccess(
        status: state.status, lock: state.status, unlock: { _ in state.status() }),
      durability: .memory, close: state.close)
    storage.watch = WatchCredentials(begin: state.watch)
    return storage
  }
}

extension UserStorage {
  /// Opens a storage that keeps credentials in memory as long as it lives.
  public static func inMemory(now: @escaping @Sendable () -> Timestamp = Timestamp.now)
    -> UserStorage
  { OpenStorage.inMemory(now: now).credentials }
}

private final class InMemory: Sendable {
  private struct State {
    var credentials: [CredentialKey: Credential] = [:]
    var sequence: UInt64 = 0
    var isClosed = false
  }

  private let state = Mutex(State())
  private let watchers = Watchers()
  private let epoch = String(UInt32.random(in: .min ... .max), radix: 36)
  private let now: @Sendable () -> Timestamp

  init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

  func save(_ request: SaveRequest) throws(StorageError) -> CredentialSummary {
    let key = request.credential.key
    return try whileOpen { state throws(StorageError) in
      let current = state.credentials[key]?.summary
      try request.condition.check(against: current?.revision)
      let moment = now()
      let credential = try request.credential(keepingPartsOf: current, at: moment)
      state.sequence += 1
      let summary = CredentialSummary(
        of: credential, createdAt: current?.createdAt ?? moment, modifiedAt: moment,
        revision: revision(in: state))
      state.credentials[key] = Credential(summary: summary, secret: credential.secret)
      watchers.tell([.saved(key, summary.revision)])
      return summary
    }
  }

  func load(_ request: LoadRequest) throws(StorageError) -> Credential {
    guard let credential = try whileOpen({ $0.credentials[request.key] }) else { throw .notFound }
    return credential
  }

  func delete(_ request: DeleteRequest) throws(StorageError) -> Bool {
    try whileOpen { state throws(StorageError) in
      let current = state.credentials[request.key]?.summary.revision
      try request.condition.check(against: current)
      guard state.credentials.removeValue(forKey: request.key) != nil else { return false }
      state.sequence += 1
      watchers.tell([.deleted(request.key, revision(in: state))])
      return true
    }
  }

  func find(_ query: CredentialQuery) throws(StorageError) -> CredentialPage {
    try query.page(of: whileOpen { $0.credentials.values.map(\.summary) })
  }

  func watch(_ request: WatchRequest) throws(StorageError) -> CredentialChanges {
    try watchers.watch(request) { () throws(StorageError) in try whileOpen { revision(in: $0) } }
  }

  func status() -> StorageStatus {
    StorageStatus(
      storage: "memory", isLocked: false, reopensAtRestart: false, durability: .memory,
      keyProtection: "there is no key: the credentials are in the memory of this process",
      count: state.withLock { $0.credentials.count })
  }

  func close() {
    state.withLock { $0 = State(sequence: $0.sequence, isClosed: true) }
    watchers.end(.closed)
  }

  /// Returns the revision of the latest change.
  private func revision(in state: State) -> Revision {
    Revision(epoch: epoch, sequence: state.sequence)
  }

  private func whileOpen<Answer>(
    _ body: (inout State) throws(StorageError) -> sending Answer
  ) throws(StorageError) -> sending Answer {
    try state.withLock { state throws(StorageError) in
      if state.isClosed { throw .closed }
      return try body(&state)
    }
  }
}
