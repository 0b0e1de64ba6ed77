internal import KistCluster
package import KistCore
internal import KistShared
package import KistVault

/// What a cluster has in the place of a head if it has nothing of a vault.
private let emptyCluster = Commit.ExpectedHead(generation: 0, bytes: nil)

extension VaultAdmin {
  /// Gives the vault a new key, with the credentials of the copy on this machine and all later changes.
  ///
  /// It reads only the rows of later changes. If the cluster has an older state of the vault than the
  /// copy, or nothing of it, it first gets back the newest change that this machine knows. The machines
  /// that know this change, or the one before it, go on by themselves. Each other one must join again.
  ///
  /// Returns the credentials of the vault, and what machines join with. Throws `unavailable` if the copy
  /// does not have exactly the changes of its note or has a former key, `denied` if this key or this
  /// machine may not do this, and `corrupt` if another machine changed the older state.
  package func beginGeneration(
    from copy: LocalCopy
  ) async throws(StorageError) -> (
    credentials: [CredentialSummary], invitation: SharedVault.Invitation
  ) {
    do throws(StorageError) {
      let known = try KnownVault(noted: try copy.note(), by: options.machine)
      let copied = try copy.state()
      guard copied.sequence >= known.state.sequence else { throw .olderThanNote }
      guard copied == known.state else { throw .newerThanNote }
      _ = try adminIndex(in: known.roster.roster)
      let older = try await olderHead(than: known)
      var next = try await claim(after: known)
      try await write(try await copy.rows().map { (RecordID($0.identity.tag.key), $0) }, to: &next)
      // As late as possible: until the new key is in use, the cluster does not have the rows of this head.
      if let older { try await putBack(known, insteadOf: older) }
      let begun: (credentials: [CredentialSummary], invitation: SharedVault.Invitation)
      do throws(StorageError) { begun = try await begin(&next, after: known, without: nil) } catch {
        throw older == nil ? error : error.withoutNewKey
      }
      if let older, older != emptyCluster {
        await remove(older.generation..<known.keys.generation)
      }
      return begun
    } catch { throw error.outcome == nil ? error.unchanged : error }
  }

  /// Returns the head of a cluster that lost a known head; `nil` if the cluster has the known head.
  ///
  /// If the cluster has nothing of the vault, it is the head of generation 0, which no vault has.
  /// Throws `corrupt` if the cluster has changes that do not lead to the known head.
  private func olderHead(
    than known: KnownVault
  ) async throws(StorageError) -> Commit.ExpectedHead? {
    let (generation, last) = (known.keys.generation, known.head.head)
    let later = try await cluster.read([
      .logEntry(generation: generation, sequence: last.sequence),
      .roster(number: known.roster.roster.number + 1),
    ])
    guard later == [nil, nil] else {
      do throws(StorageError) { _ = try await changes(after: known) } catch {
        if error == .newGeneration { throw .newerKey }
        let isOther = error.code == .corrupt && ![.changesAreMissing, .lostHead].contains(error)
        throw isOther ? .otherHistory : error
      }
      return nil
    }
    guard let roster = try await newestRoster(before: known) else {
      guard try await cluster.head(generation).head == nil else { throw .noRoster }
      guard try await cluster.head(0).head == nil else { throw .isPutBack }
      return emptyCluster
    }
    var keys = known.keys
    if roster.roster.generation != generation {
      do throws(StorageError) { keys = try roster.roster.openKeys(with: options.machine) } catch {
        throw error == .notMember ? .wasNoMember : error
      }
    }
    guard let record = try await cluster.head(keys.generation).head else { throw .lostHead }
    let head = try keys.verifyHead(
      record, in: roster, notBefore: HeadPoint(sequence: 0, digest: Digest(of: record)))
    // The machines that know the newest change make no other one after it was lost.
    guard keys.generation <= generation, head.head.sequence < last.sequence,
      head.head.time <= last.time
    else { throw .otherChange(by: head.machine) }
    return .init(generation: keys.generation, bytes: record)
  }

  /// Returns the newest roster of a cluster that lost some; `nil` if it has none.
  private func newestRoster(
    before known: KnownVault
  ) async throws(StorageError) -> VerifiedRoster? {
    let newest = known.roster.roster
    for number in stride(from: newest.number, through: 1, by: -1) {
      guard let record = try await cluster.read(.roster(number: number)) else { continue }
      let roster = newest.admins.lazy.compactMap {
        try? VerifiedRoster(verifying: record, of: newest.vault, signedBy: $0)
      }.first
      guard let roster else { throw .otherSignature }
      if roster.roster.number == number { return roster }
    }
    return nil
  }

  /// Gives the cluster a known head and its roster, in the place of an older head.
  private func putBack(
    _ known: KnownVault, insteadOf older: Commit.ExpectedHead
  ) async throws(StorageError) {
    let (generation, number) = (known.keys.generation, known.roster.roster.number)
    let entry = RecordName.logEntry(generation: generation, sequence: known.head.head.sequence)
    var commit = Commit(
      expected: older,
      puts: [
        .roster(number: number): known.rosterRecord, entry: known.headRecord,
        .head(generation: generation): known.headRecord,
      ])
    if older == emptyCluster {
      // It is never deleted. So a late repeat of this commit fails, and `makeVault` finds a vault.
      commit.puts[.head(generation: 0)] = known.headRecord
    } else if older.generation != generation {
      commit.deletes = [.head(generation: older.generation)]
    }
    var isMade = false
    try await settle(commit) { () throws(StorageError) in
      // Read first: once it differs, the commit cannot be made any more.
      let head = try await cluster.head(older.generation).head
      isMade = try await cluster.read(entry) == known.headRecord
      return isMade || head != older.bytes
    }
    guard isMade else { throw .othersChange }
  }
}

extension StorageError {
  private static let whatToDo =
    "nothing was changed; \"A restored or lost cluster\" in shared-vault.md says what to do"

  fileprivate static let olderThanNote = refused(
    "the copy on this machine is older than the note beside it", as: .unavailable,
    hint: "run the command on another machine, or start kistd, which completes the copy")
  fileprivate static let newerThanNote = refused(
    "the copy on this machine has changes that the note beside it does not have", as: .unavailable,
    hint:
      "kistd was killed; if the cluster still has these changes, start kistd and stop it; otherwise, "
      + "make a backup of this copy, and run the command on another machine")
  fileprivate static let newerKey = refused(
    "the vault has a newer key than the copy on this machine", as: .unavailable,
    hint:
      "start kistd, which makes a new copy; stop it, and try again; if `kist status` reports `corrupt`, "
      + "join again")
  fileprivate static let isPutBack = refused(
    "the vault was put back from another copy already", as: .unavailable,
    hint:
      "join again with the line that `kistd vault rotate --from-copy` printed there; if it was "
      + "interrupted, run it again there")
  fileprivate static let wasNoMember = refused(
    "this machine was not a member of the vault in the state that the cluster has", as: .denied,
    hint: whatToDo)
  fileprivate static let otherHistory = StorageError(
    .corrupt, "the cluster has another history of the vault than this machine", hint: whatToDo)
  fileprivate static let noRoster = StorageError(
    .corrupt, "the cluster has a head of the vault, but no list of its machines", hint: whatToDo)
  fileprivate static let otherSignature = StorageError(
    .corrupt,
    "the list of machines in the cluster is of another vault, or no present admin has signed it",
    hint: whatToDo)

  fileprivate static func otherChange(by machine: RecordID) -> StorageError {
    StorageError(
      .corrupt,
      "the cluster has a change of the machine \(machine) that this copy may not have",
      hint: whatToDo)
  }

  /// The same error after the cluster got back the newest change.
  fileprivate var withoutNewKey: StorageError {
    var error = self
    error.outcome = .unknown
    error.hint =
      "the cluster has the newest change again, but the vault may not have its new key yet; run the same "
      + "command again on this machine"
    return error
  }
}
