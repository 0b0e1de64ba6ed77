internal import KistCore

extension FileStore {
  /// Answers a hit at once, on the caller's thread; a miss once the store is known to be whole.
  ///
  /// Inlined into the closure that is the storage's `load`, as a frame of its own costs a load 1 %.
  @inline(__always)
  func load(_ request: LoadRequest) async throws(StorageError) -> Credential {
    let session = try session()
    guard let credential = try credential(at: request.key, session) else {
      try await session.check.settle(within: options.deadline)
      throw .notFound
    }
    return credential
  }

  func save(_ request: SaveRequest) async throws(StorageError) -> CredentialSummary {
    guard case .saved(let summary) = try await carryOut(.save(request)) else {
      throw .internal("a save was taken for a delete")
    }
    return summary
  }

  func delete(_ request: DeleteRequest) async throws(StorageError) -> Bool {
    guard case .deleted(let sequence) = try await carryOut(.delete(request)) else {
      throw .internal("a delete was taken for a save")
    }
    return sequence != nil
  }

  private func credential(at key: CredentialKey, _ session: Session) throws(StorageError)
    -> Credential?
  {
    let tag = session.keys.tag(of: key)
    return try connections.read { database throws(StorageError) in
      try database.lookUp(tag) { sequence, metadata, secret throws(StorageError) in
        let metadata = try session.keys.openMetadata(metadata, at: tag, sequence: sequence)
        return Credential(
          summary: metadata.summary(at: session.revision(of: sequence)),
          secret: try session.keys.openSecret(secret, at: tag, sequence: sequence))
      }.found
    }
  }

  /// Carries out a change on the writer's queue.
  ///
  /// It waits until the store is known to be whole: a page that only seems to be free is not written
  /// over, and nothing is said to be absent that was there.
  ///
  /// What is not answered in time goes on, of unknown outcome. The watch is here, not around the
  /// storage, where each change would take a task more.
  func carryOut(_ change: Change) async throws(StorageError) -> Change.Effect {
    do throws(StorageError) {
      let start = ContinuousClock.now
      let session = try session()
      try await session.check.settle(within: options.deadline)
      return try await watch.over(outcome: .unknown, since: start) { answer in
        writer.carryOut(change, in: session, answer)
      }
    } catch {
      throw error.withOutcome(.unchanged)
    }
  }
}
