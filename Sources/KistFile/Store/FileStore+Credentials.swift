internal import KistCore
internal import KistVault

extension FileStore {
  /// Returns a credential immediately, on the caller's thread.
  ///
  /// A missing credential is reported only once the store is known to be undamaged.
  ///
  /// Inlined into the storage's `load`, because a separate frame makes a load 1 % slower.
  @inline(__always)
  func load(_ request: LoadRequest) async throws(StorageError) -> Credential {
    let session = try session()
    guard let credential = try credential(at: request.key, session) else {
      try await session.check.settle(within: watch)
      throw .notFound
    }
    return credential
  }

  func save(_ request: SaveRequest) async throws(StorageError) -> CredentialSummary {
    try await carryOut { transaction throws(StorageError) in try transaction.save(request) }
  }

  func delete(_ request: DeleteRequest) async throws(StorageError) -> Bool {
    try await carryOut { transaction throws(StorageError) in try transaction.delete(request) }
  }

  private func credential(at key: CredentialKey, _ session: Session) throws(StorageError)
    -> Credential?
  {
    let tag = session.keys.tag(of: key)
    return try connections.read { database throws(StorageError) in
      try database.lookUp(tag) { place, metadata, secret throws(StorageError) in
        let metadata = try session.keys.openMetadata(metadata, at: place, knowsKey: true)
        let (secret, _) = try session.keys.openSecret(
          secret, hasFields: metadata.secretHasFields, at: place)
        return Credential(
          summary: metadata.summary(at: session.epoch.revision(of: place.sequence)),
          secret: secret)
      }.found
    }
  }

  /// Carries out a change on the writer's queue.
  ///
  /// It waits until the store is known to be undamaged. Otherwise a page that only appears free
  /// could be overwritten, or an existing credential reported as absent.
  ///
  /// After the deadline the change continues, with the outcome `unknown`. The deadline is here and
  /// not around the storage, which would need another task for each change.
  func carryOut<Answer: Sendable>(
    _ change: @escaping Change<Answer>
  ) async throws(StorageError) -> Answer {
    do throws(StorageError) {
      let start = ContinuousClock.now
      let session = try session()
      try await session.check.settle(within: watch)
      return try await watch.over(outcome: .unknown, since: start) { answer in
        writer.carryOut(change, in: session, answer)
      }
    } catch {
      throw error.withOutcome(.unchanged)
    }
  }
}
