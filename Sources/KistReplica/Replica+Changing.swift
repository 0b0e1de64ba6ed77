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
  ///
  /// The error is the reason why the copy does not have that other change; `nil` if it has it.
  case lost(StorageError?)
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
      let began = options.elapsed()
      guard began < end else { throw .waitedTooLong }
      var isConfirmed = false
      if !trustsAbsence {
        try await confirm()
        isConfirmed = true
      }
      for attempt in 0... {
        try await waitForGeneration(until: min(end, began + options.waitsForGeneration))
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

  /// Waits while the head asks for a pause, so that the admin's next commit is not too late.
  private func waitForGeneration(until end: Duration) async throws(StorageError) {
    while try known().head.head.change == .pause, options.elapsed() < end {
      await options.sleep(.milliseconds(20))
      try await confirm()
    }
  }

  /// Confirms the head before a change; a failure means that the change was not begun.
  private func confirm() async throws(StorageError) {
    do throws(StorageError) { try await catchUp() } catch { throw error.unchanged }
  }

  private func checkRole(in known: KnownVault) throws(StorageError) {
    guard let member = known.roster.roster.member(options.machine.id) else { throw .notMember }
    guard member.isWriter(at: options.now()) else {
      throw .refused(
        "this machine may only read the vault", as: .denied,
        hint: "ask an admin of the vault to remove this machine, and to add it again as a writer")
    }
  }

  /// Commits a change, and returns whether it is in the history.
  ///
  /// Whatever the cluster answers, the history decides, even about an error that says that nothing
  /// was changed. `false` means that the change is not in the history and never will be. Throws with
  /// a true outcome.
  private func isMade(
    _ change: Head.Change, _ state: VaultState, _ row: [UInt8]?, until end: Duration
  ) async throws(StorageError) -> Bool {
    let known = try known()
    let (commit, operation): (Commit, RecordID)
    do throws(StorageError) {
      (commit, operation) = try self.commit(change, state, row, after: known)
    } catch { throw error.unchanged }
    var claimsSuccess = false
    var refusal: StorageError?
    do throws(StorageError) {
      if case .committed = try await cluster.commit(commit) { claimsSuccess = true }
    } catch { refusal = error }
    let own = claimsSuccess ? commit : nil
    switch await fate(of: operation, in: own, after: known, refused: refusal?.code, until: end) {
    case .made: return true
    case .lost(let problem):
      if claimsSuccess { throw .liedAboutCommit }
      // The cluster would refuse the same change again.
      if let refusal, refusal.outcome == .unchanged { throw refusal }
      if let problem { throw problem.unchanged }
      return false
    case .unknown(let error): throw (refusal ?? error).unknown
    }
  }

  /// Makes the commit of a change; returns it with the id of its operation.
  ///
  /// Throws if the commit exceeds a limit, or if another machine would refuse its head.
  private func commit(
    _ change: Head.Change, _ state: VaultState, _ row: [UInt8]?, after known: KnownVault
  ) throws(StorageError) -> (Commit, operation: RecordID) {
    // An id has as many bytes as are taken.
    let operation = RecordID(options.random(RecordID.size))!
    let head = Head(
      sequence: known.state.sequence + 1, count: state.count, epoch: state.epoch, sum: state.sum,
      roster: known.roster.digest, before: known.head.digest, time: options.now(),
      operation: operation, change: change)
    let record = known.keys.encode(head, signedBy: options.machine, nonce: options.random(24))
    do throws(StorageError) {
      _ = try known.keys.verifyNextHead(record, after: known.head, in: [known.roster])
    } catch {
      // The membership may have ended since the role was checked.
      try checkRole(in: known)
      throw error
    }
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
    case .begin, .nothing, .roster, .generation, .pause, .announcement: break
    }
    try commit.check()
    return (commit, operation)
  }

  /// Finds out what became of a commit after a head.
  ///
  /// The verified log decides. While the head is still the one before, the commit may yet be made. So
  /// this takes its number with a change that does nothing: whichever is made settles the other. It
  /// also waits until the copy has the change, but no longer than the deadline. It ends early if the
  /// cluster refuses both changes for the same reason that stays, for example because it has no space.
  ///
  /// - Parameters:
  ///   - commit: The commit, if the cluster says that it was made.
  ///   - refusal: Why the cluster refused it.
  private func fate(
    of operation: RecordID, in commit: Commit?, after known: KnownVault,
    refused refusal: StorageError.Code?, until end: Duration
  ) async -> Fate {
    let sequence = known.state.sequence + 1
    var isMade: Bool?
    var hasTried = false
    var isRefused = false
    for attempt in 0... {
      var problem: StorageError?
      do throws(StorageError) {
        try await catchUp(after: commit) { head in
          if head.head.sequence == sequence { isMade = head.head.operation == operation }
        }
      } catch { problem = error }
      // The copy cannot be brought up to date with this key.
      let isLast = problem == .newGeneration || problem == .notMember
      let isLate = isLast || options.elapsed() >= end || Task.isCancelled
      if let isMade, isLate || problem == nil { return isMade ? .made : .lost(problem) }
      // Another answer of the cluster may be true, or the disk may have space again.
      if isLate, hasTried || problem != nil { return .unknown(problem ?? .notSettled) }
      if problem == nil {
        if isRefused { return .unknown(.notSettled) }
        hasTried = true
        // A machine that is not a writer any longer can only wait.
        if let (nothing, _) = try? self.commit(.nothing, known.state, nil, after: known) {
          do throws(StorageError) { _ = try await cluster.commit(nothing) } catch {
            isRefused =
              error.code == refusal
              && [.full, .denied, .tooLarge, .badRequest].contains(error.code)
          }
        }
      }
      if attempt > 0 { await options.backOff(before: attempt) }
    }
    return .unknown(.notSettled)
  }
}

extension StorageError {
  /// The same error for a change that may have been made.
  fileprivate var unknown: StorageError {
    var error = self
    // The hint of an error of a read can say that nothing was changed.
    (error.hint, error.outcome) = (StorageError.notSettled.hint, .unknown)
    return error
  }

  fileprivate static let waitedTooLong = StorageError(
    .unavailable, "earlier changes of the vault took all the time for this one",
    hint: "try again; nothing was changed", outcome: .unchanged)
  fileprivate static let notSettled = StorageError(
    .unavailable, "the cluster did not show in time whether the change was made",
    hint: StorageError.noAnswer.hint)
  fileprivate static let othersWereFaster = StorageError(
    .busy, "other machines changed the vault all the time",
    hint: "try again; nothing was changed", outcome: .unchanged)
  fileprivate static let liedAboutCommit: StorageError = {
    var error = untrusted("the cluster confirmed a change that it did not make")
    error.outcome = .unchanged
    return error
  }()
}
