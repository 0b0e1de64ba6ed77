internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistVault

extension VaultAdmin {
  /// Gives the next key to the machines that stay, so that they can make its copy ahead.
  ///
  /// Returns the state of the vault after that.
  func announce(
    _ next: inout NextGeneration, after known: KnownVault, without removed: RecordID?
  ) async throws(StorageError) -> KnownVault {
    let roster = try roster(of: next, after: known, without: removed)
    next.announced = roster
    // Its signature is not that of a roster, so nobody else can begin the generation with it.
    let record = roster.encoded(
      signedBy: key, index: UInt32(try adminIndex(in: known.roster.roster)), for: .announcement)
    await notify(
      .announcement, [.announcement(generation: known.keys.generation): record], after: known)
    return try await changes(after: known).last
  }

  /// Adds a change that leaves the credentials as they are, for the other machines.
  ///
  /// It may fail, because the generation can begin without it: saves then wait longer when it begins.
  func notify(
    _ change: Head.Change, _ puts: [RecordName: [UInt8]] = [:], after known: KnownVault
  ) async {
    try? await commit(change, puts, after: known)
  }

  private func commit(
    _ change: Head.Change, _ puts: [RecordName: [UInt8]], after known: KnownVault
  ) async throws(StorageError) {
    var known = known
    for _ in 0..<mostAttempts {
      known = try await changes(after: known).last
      let head = head(change, after: known)
      let record = known.keys.encode(
        head, signedBy: options.machine, nonce: options.random(24))
      _ = try known.keys.verifyNextHead(record, after: known.head, in: [known.roster])
      let generation = known.keys.generation
      var commit = Commit(
        expected: .init(generation: generation, bytes: known.headRecord), puts: puts)
      commit.puts[.head(generation: generation)] = record
      commit.puts[.logEntry(generation: generation, sequence: head.sequence)] = record
      if case .committed? = try? await cluster.commit(commit) { return }
    }
  }

  /// Makes the roster of a generation, which gives its key to each member that stays.
  func roster(
    of next: NextGeneration, after known: KnownVault, without removed: RecordID?
  ) throws(StorageError) -> Roster {
    let before = known.roster.roster
    let (keys, master) = (next.keys, next.master)
    let members = try before.members.filter { $0.keys.id != removed }
      .map { member throws(StorageError) in
        try Member(
          member.keys, member.role, name: try known.keys.name(of: member), added: member.added,
          until: member.until, wrapping: master, of: keys, nonce: options.random(24))
      }
    // The key of a removed recovery member must not sign the next roster.
    let gone = removed.flatMap { before.member($0)?.keys.signing }
    return Roster(
      keys, number: before.number + 1, before: known.roster.digest, time: options.now(),
      admins: before.admins.filter { $0 != gone }, members: members)
  }

  /// Returns the description of a vault after a change that leaves the credentials as they are.
  func head(_ change: Head.Change, after known: KnownVault) -> Head {
    var head = known.head.head
    head.sequence += 1
    (head.before, head.change) = (known.head.digest, change)
    (head.time, head.operation) = (options.now(), newID())
    return head
  }
}
