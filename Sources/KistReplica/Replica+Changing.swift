internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistVault

/// What a change would do to the vault, judged on the copy.
private enum Planned<Answer> {
  /// Nothing is to be written.
  case nothing(Answer)
  /// A new head, and perhaps a row.
  case write(Answer, Head.Change, VaultState, row: [UInt8]?)
}

/// What became of a commit.
private enum Fate {
  /// It is in the history.
  case made
  /// Another change has its number, so it is not in the history and never will be.
  case lost
  /// The deadline passed before the cluster answered.
  case unknown(StorageError)
}

extension Replica {
  func save(_ request: SaveRequest) async throws(StorageError) -> CredentialSummary {
    try await change(request.credential.key) { [options] known, found throws(StorageError) in
      let keys = known.keys
      var nonces = Nonces(options.random(48))
      let plan = try keys.store.plan(
        request, on: found, Header(known.state), at: options.now(), &nonces)
      guard case .putRow(let row, _) = plan.writes.first else {
        throw .internal("a planned save does not write a row")
      }
      let record = keys.encode(row, nonce: options.random(24))
      return .write(
        plan.answer, .save(RecordID(row.identity.tag.key), row: Digest(of: record)),
        plan.header.vaultState, row: record)
    }
  }

  func delete(_ request: DeleteRequest) async throws(StorageError) -> Bool {
    try await change(request.key) { known, found throws(StorageError) in
      let plan = try known.keys.store.plan(request, on: found, Header(known.state))
      guard plan.answer else { return .nothing(false) }
      let key = RecordID(known.keys.store.tag(of: request.key).key)
      return .write(true, .delete(key), plan.header.vaultState, row: nil)
    }
  }

  /// Plans a change, and commits it; plans it again when another machine was faster.
  private func change<Answer>(
    _ key: CredentialKey,
    _ plan: (KnownVault, FoundRow) throws(StorageError) -> Planned<Answer>
  ) async throws(StorageError) -> Answer {
    let end = options.elapsed() + options.deadline
    return try await turn.take { () throws(StorageError) in
      var isConfirmed = false
      if !trustsAbsence {
        try await confirm()
        isConfirmed = true
      }
      for attempt in 0... {
        let planned: Planned<Answer>
        do throws(StorageError) {
          let known = try known()
          try checkRole(in: known)
          let tag = known.keys.store.tag(of: key)
          planned = try plan(known, FoundRow(tag: tag, address: 0, row: copy.row(tag)))
        } catch {
          // Another machine may have changed what the condition is about.
          if isConfirmed { throw error.withOutcome(.unchanged) }
          try await confirm()
          isConfirmed = true
          continue
        }
        guard case .write(let answer, let change, let state, let row) = planned else {
          if case .nothing(let answer) = planned, isConfirmed { return answer }
          try await confirm()
          isConfirmed = true
          continue
        }
        if try await isMade(change, state, row, until: end) { return answer }
        isConfirmed = true
        guard options.elapsed() < end, !Task.isCancelled else { throw .othersWereFaster }
        await options.backOff(before: attempt)
      }
      throw .othersWereFaster
    }
  }

  /// Confirms the head before a change; a failure means that the change was not begun.
  private func confirm() async throws(StorageError) {
    do throws(StorageError) { _ = try await catchUp() } catch { throw error.unchanged }
  }

  private func checkRole(in known: KnownVault) throws(StorageError) {
    guard let member = known.roster.roster.member(options.machine.id) else { throw .notMember }
    guard member.isWriter(at: options.now()) else {
      throw .refused(
        "this machine may only read the vault", as: .denied,
        hint: "ask an admin of the vault to make this machine a writer")
    }
  }

  /// Commits a change, and returns whether it is in the history.
  ///
  /// Whatever the cluster answers, the history decides. `false` means that the change is not in the
  /// history and never will be. Throws with a true outcome.
  private func isMade(
    _ change: Head.Change, _ state: VaultState, _ row: [UInt8]?, until end: Duration
  ) async throws(StorageError) -> Bool {
    let known = try known()
    let (commit, operation) = commit(change, state, row, after: known)
    var claimsSuccess = false
    do throws(StorageError) {
      if case .committed = try await cluster.commit(commit) { claimsSuccess = true }
    } catch {
      if error.outcome == .unchanged { throw error }
    }
    switch await fate(of: operation, after: known, until: end) {
    case .made: return true
    case .lost:
      if claimsSuccess { throw .liedAboutCommit }
      return false
    case .unknown(var error):
      error.outcome = .unknown
      throw error
    }
  }

  /// Makes the commit of a change; returns it with the id of its operation.
  private func commit(
    _ change: Head.Change, _ state: VaultState, _ row: [UInt8]?, after known: KnownVault
  ) -> (Commit, operation: RecordID) {
    // An id has as many bytes as are taken.
    let operation = RecordID(options.random(RecordID.size))!
    let head = Head(
      sequence: known.state.sequence + 1, count: state.count, epoch: state.epoch, sum: state.sum,
      roster: known.roster.digest, before: known.head.digest, time: options.now(),
      operation: operation, change: change)
    let record = known.keys.encode(head, signedBy: options.machine, nonce: options.random(24))
    let generation = known.keys.generation
    var commit = Commit(
      expected: Commit.ExpectedHead(generation: generation, bytes: known.headRecord),
      puts: [
        .head(generation: generation): record,
        .logEntry(generation: generation, sequence: head.sequence): record,
      ])
    switch change {
    case .save(let key, _): commit.puts[.row(generation: generation, key: key)] = row
    case .delete(let key): commit.deletes = [.row(generation: generation, key: key)]
    case .begin, .nothing, .roster, .generation: break
    }
    return (commit, operation)
  }

  /// Finds out what became of a commit after a head.
  ///
  /// While the head is still the one before, the commit may yet be made. So this takes its number
  /// with a change that does nothing: whichever is made settles the other.
  private func fate(
    of operation: RecordID, after known: KnownVault, until end: Duration
  ) async -> Fate {
    let sequence = known.state.sequence + 1
    for attempt in 0... {
      do throws(StorageError) {
        let heads = try await catchUp()
        if let made = heads.first(where: { $0.head.sequence == sequence }) {
          return made.head.operation == operation ? .made : .lost
        }
        if options.elapsed() >= end || Task.isCancelled { return .unknown(.notSettled) }
        let (nothing, _) = commit(.nothing, known.state, nil, after: known)
        // The history decides, whatever the answer is.
        _ = try? await cluster.commit(nothing)
      } catch {
        // Another answer of the cluster may be true, or the disk may have space again.
        if options.elapsed() >= end || Task.isCancelled { return .unknown(error) }
      }
      if attempt > 0 { await options.backOff(before: attempt) }
    }
    return .unknown(.notSettled)
  }
}

extension StorageError {
  fileprivate static let notSettled = StorageError(
    .unavailable, "the cluster did not show in time whether the change was made",
    hint: "load the credential to see")
  fileprivate static let othersWereFaster = StorageError(
    .busy, "other machines changed the vault all the time",
    hint: "try again; nothing was changed", outcome: .unchanged)
  fileprivate static let liedAboutCommit: StorageError = {
    var error = untrusted("the cluster confirmed a change that it did not make")
    error.outcome = .unchanged
    return error
  }()
}
