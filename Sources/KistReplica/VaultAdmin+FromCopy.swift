internal import KistCluster
package import KistCore
internal import KistShared
package import KistVault

/// What a cluster has in the place of a head if it has nothing of a vault.
private let emptyCluster = Commit.ExpectedHead(generation: 0, bytes: nil)

extension VaultAdmin {
  /// Gives the vault a new key, with the credentials of the copy on this machine and all later changes.
  ///
  /// It reads no rows of the cluster. If the cluster has an older state of the vault than the copy, or
  /// nothing of it, it first gets back the newest change that this machine knows. The machines that
  /// know this change, or the one before it, go on by themselves. Each other one must join again.
  ///
  /// Returns the credentials of the vault, and what machines join with. Throws `unavailable` if the copy
  /// does not have exactly the changes of its note, and `corrupt` if another machine changed the older
  /// state.
  package func beginGeneration(
    from copy: LocalCopy
  ) async throws(StorageError) -> (
    credentials: [CredentialSummary], invitation: SharedVault.Invitation
  ) {
    do throws(StorageError) {
      let known = try KnownVault(noted: try copy.note(), by: options.machine)
      guard try copy.state() == known.state else { throw .otherCopyThanNote }
      _ = try adminIndex(in: known.roster.roster)
      let older = try await olderHead(than: known)
      var next = try await claim(after: known)
      try await write(try await copy.rows().map { (RecordID($0.identity.tag.key), $0) }, to: &next)
      // As late as possible: until the new key is in use, the cluster does not have the rows of this head.
      if let older { try await putBack(known, insteadOf: older) }
      let begun = try await begin(&next, after: known, without: nil)
      if let older, older != emptyCluster {
        await remove(older.generation..<known.keys.generation)
      }
      return begun
    } catch { throw error.outcome == nil ? error.unchanged : error }
  }

  /// Returns the head of the cluster if it is older than a known one; `nil` if the cluster has the known one.
  ///
  /// If the cluster has nothing of the vault, it is the head of generation 0, which no vault has. Throws `corrupt` if the cluster has changes
  /// that do not lead to the known head.
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
        throw error == .newGeneration ? .newerKey : error
      }
      return nil
    }
    guard let roster = try await newestRoster(before: known) else {
      guard try await cluster.head(generation).head == nil else { throw .noRoster }
      return emptyCluster
    }
    let keys =
      roster.roster.generation == generation
      ? known.keys : try roster.roster.openKeys(with: options.machine)
    guard let record = try await cluster.head(keys.generation).head else { throw .lostHead }
    let head = try keys.verifyHead(
      record, in: roster, notBefore: HeadPoint(sequence: 0, digest: Digest(of: record)))
    // The machines that know the newest change make no other one after it was lost.
    guard head.head.sequence < last.sequence, head.head.time <= last.time else {
      throw .otherChanges(by: head.machine)
    }
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
      // It stays, so that this commit is not made again, and nobody makes another vault here.
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

  fileprivate static let otherCopyThanNote = refused(
    "the copy on this machine and the note beside it are of different changes", as: .unavailable,
    hint:
      "kistd did not end properly; start it and stop it once, or run the command on another machine"
  )
  fileprivate static let newerKey = refused(
    "the vault has a newer key than the copy on this machine", as: .unavailable,
    hint: "start kistd, which makes a new copy; stop it, and try again")
  fileprivate static let noRoster = StorageError(
    .corrupt, "the cluster has a head of the vault, but no list of its machines",
    hint: whatToDo)
  fileprivate static let otherSignature = StorageError(
    .corrupt, "no present admin of the vault has signed the list of machines in the cluster",
    hint: whatToDo)

  fileprivate static func otherChanges(by machine: RecordID) -> StorageError {
    StorageError(
      .corrupt,
      "the machine \(machine) changed the vault after the cluster lost its newest changes",
      hint: whatToDo)
  }
}
