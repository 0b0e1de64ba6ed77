private import Synchronization

extension UserStorage {
  /// A storage that keeps credentials for as long as it lives: for tests and previews.
  ///
  /// It keeps every promise of the contract; its durability is `memory`.
  public static func inMemory(now: @escaping @Sendable () -> Timestamp = Timestamp.now)
    -> UserStorage
  {
    let state = InMemory(now: now)
    return UserStorage(
      save: state.save, load: state.load, delete: state.delete, find: state.find
    ).keepingPromises(now: now)
  }
}

private final class InMemory: Sendable {
  private struct State {
    var credentials: [CredentialKey: Credential] = [:]
    var sequence: UInt64 = 0
  }

  private let state = Mutex(State())
  private let epoch = String(UInt32.random(in: .min ... .max), radix: 36)
  private let now: @Sendable () -> Timestamp

  init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

  func save(_ request: SaveRequest) throws(StorageError) -> CredentialSummary {
    let key = request.credential.key
    return try state.withLock { state throws(StorageError) in
      let current = state.credentials[key]?.summary
      try request.condition.check(against: current?.revision)
      state.sequence += 1
      let moment = now()
      let summary = CredentialSummary(
        of: request.credential, createdAt: current?.createdAt ?? moment, modifiedAt: moment,
        revision: Revision(epoch: epoch, sequence: state.sequence))
      state.credentials[key] = Credential(summary: summary, secret: request.credential.secret)
      return summary
    }
  }

  func load(_ request: LoadRequest) throws(StorageError) -> Credential {
    guard let credential = state.withLock({ $0.credentials[request.key] }) else { throw .notFound }
    return credential
  }

  func delete(_ request: DeleteRequest) throws(StorageError) -> Bool {
    try state.withLock { state throws(StorageError) in
      let current = state.credentials[request.key]?.summary.revision
      if let expected = request.ifRevision {
        try Condition.ifRevision(expected).check(against: current)
      }
      guard current != nil else { return false }
      state.sequence += 1
      state.credentials[request.key] = nil
      return true
    }
  }

  func find(_ query: CredentialQuery) throws(StorageError) -> CredentialPage {
    try query.page(of: state.withLock { $0.credentials.values.map(\.summary) })
  }
}
