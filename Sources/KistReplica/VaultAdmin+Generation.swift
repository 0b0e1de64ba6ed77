package import KistCluster
package import KistCore
internal import KistShared
internal import KistSodium
internal import KistVault

/// The maximum number of rows in one commit, and the maximum size of these rows in bytes.
private let (mostRows, mostRowBytes) = (100, 900_000)
/// The maximum number of attempts that were interrupted since the last generation began.
private let mostClaims: UInt32 = 1000
/// The number of first bytes of key tags whose rows are deleted at the same time.
private let removalsAtOnce = 8

extension VaultAdmin {
  /// Gives the vault a new key, which only the remaining members get, and seals all rows with it.
  ///
  /// Returns the credentials of the vault. A machine that was removed has read them, so only a change
  /// at their sources ends its access. Throws `badRequest` if the machine is not a member, or is this
  /// one. Until the last commit, other machines see and change the vault under its old key.
  ///
  /// - Parameter removed: the machine to remove; `nil` to keep all.
  /// - Parameter note: the note beside the copy of the vault on this machine.
  package func beginGeneration(
    without removed: RecordID?, note: [UInt8]?
  ) async throws(StorageError) -> [CredentialSummary] {
    var known = try KnownVault(noted: note, by: options.machine)
    do throws(StorageError) {
      known = try await changes(after: known).last
      _ = try adminIndex(in: known.roster.roster)
      guard removed != options.machine.id else { throw .removesItself }
      guard removed.map({ known.roster.roster.member($0) != nil }) ?? true else { throw .noMember }
      var next = try await claim(after: known)
      known = try await announce(&next, after: known, without: removed)
      known = try await writeAll(after: known, to: &next)
      return try await begin(&next, after: known, without: removed).credentials
    } catch { throw error.outcome == nil ? error.unchanged : error }
  }

  /// Begins a generation that has all rows of a known state; adds the changes after it.
  ///
  /// Returns the credentials, and what machines join with from now on.
  func begin(
    _ next: inout NextGeneration, after known: KnownVault, without removed: RecordID?
  ) async throws(StorageError) -> (
    credentials: [CredentialSummary], invitation: SharedVault.Invitation
  ) {
    var known = known
    for attempt in 0..<mostAttempts {
      // Most changes first, so that the writers need not wait for them.
      known = try await writeChanges(after: known, to: &next)
      await notify(.pause, after: known)
      known = try await writeChanges(after: known, to: &next)
      // The cluster may have confirmed rows that it did not store.
      guard try await cluster.head(next.keys.generation).head == next.marker else {
        throw .lostRows
      }
      if let invitation = try await commit(next, after: known, without: removed) {
        // The change is made, whatever becomes of the old rows.
        await remove(known.keys.generation..<next.keys.generation)
        return (next.credentials, invitation)
      }
      await options.backOff(before: attempt)
    }
    throw .othersChange
  }

  /// Takes the first number after the generation that no other attempt has taken.
  ///
  /// So the records of an attempt that was interrupted, some of which may be written late, are never
  /// among those of this one.
  func claim(after known: KnownVault) async throws(StorageError) -> NextGeneration {
    let master = try options.newMaster()
    for offset in 1...mostClaims {
      var next = try NextGeneration(
        after: known, number: known.keys.generation + offset, master: master,
        storeID: options.random(16))
      if try await send(to: &next) { return next }
    }
    throw .othersChange
  }

  /// Writes all rows; returns the state of the vault that has these rows.
  private func writeAll(
    after known: KnownVault, to next: inout NextGeneration
  ) async throws(StorageError) -> KnownVault {
    var known = known
    for attempt in 0..<mostAttempts {
      let reading = try await cluster.head(known.keys.generation)
      if reading.head == known.headRecord {
        let rows = try await cluster.rows(of: known.keys, known.head, at: reading.position)
        try await write(rows.map { (RecordID($0.key), $1) }, to: &next)
        return known
      }
      await options.backOff(before: attempt)
      known = try await changes(after: known).last
    }
    throw .othersChange
  }

  /// Writes what other machines changed; returns the state of the vault after that.
  private func writeChanges(
    after known: KnownVault, to next: inout NextGeneration
  ) async throws(StorageError) -> KnownVault {
    var (known, others) = (known, Set<RecordID>())
    for _ in 0..<mostAttempts {
      let chain = try await changes(after: known)
      guard let heads = chain.heads else { throw .othersChange }
      // The log has the change of a row before the row can be read.
      if heads.isEmpty, !others.isEmpty { throw .wrongRow }
      let found = try await cluster.currentRows(savedBy: heads, known.keys.generation)
      let changed = Set(heads.compactMap(\.head.change.key))
      others = others.subtracting(changed).union(found.others)
      var rows: [(RecordID, SealedRow?)] = []
      for key in changed.subtracting(found.others) {
        let row: SealedRow? =
          if let record = found.rows[key] {
            try known.keys.openRow(record, key: key)
          } else { nil }
        rows.append((key, row))
      }
      try await write(rows, to: &next)
      known = chain.last
      if others.isEmpty { return known }
    }
    throw .othersChange
  }

  /// Seals and writes rows, by their key tags under the old key, and deletes those that are gone.
  func write(
    _ rows: [(RecordID, SealedRow?)], to next: inout NextGeneration
  ) async throws(StorageError) {
    let generation = next.keys.generation
    var (puts, deletes, size) = ([RecordName: [UInt8]](), Set<RecordName>(), 0)
    for (old, row) in rows {
      var (key, record) = (next.forget(old), nil as [UInt8]?)
      if let row { (key, record) = try next.seal(row, nonce: options.random(24)) }
      guard let key else { continue }
      let added = record?.count ?? 0
      if puts.count + deletes.count == mostRows || size + added > mostRowBytes {
        guard try await send(puts, deletes, to: &next) else { throw .othersChange }
        (puts, deletes, size) = ([:], [], 0)
      }
      let name = RecordName.row(generation: generation, key: key)
      if let record { puts[name] = record } else { deletes.insert(name) }
      size += added
    }
    if puts.isEmpty, deletes.isEmpty { return }
    guard try await send(puts, deletes, to: &next) else { throw .othersChange }
  }

  /// Writes and deletes records of the next generation, once; returns `false` if its number is taken.
  ///
  /// Each commit expects the marker of the one before it in the place of the head, and replaces it. So
  /// a commit that is made late cannot undo a later one.
  private func send(
    _ puts: [RecordName: [UInt8]] = [:], _ deletes: Set<RecordName> = [],
    to next: inout NextGeneration
  ) async throws(StorageError) -> Bool {
    let (generation, marker) = (next.keys.generation, options.random(32))
    var commit = Commit(
      expected: .init(generation: generation, bytes: next.marker), puts: puts, deletes: deletes)
    commit.puts[.head(generation: generation)] = marker
    let isMade = try await repeating { () throws(StorageError) in
      if case .committed = try await cluster.commit(commit) { return true }
      // An earlier try may have been made.
      return try await cluster.head(generation).head == marker
    }
    if isMade { next.marker = marker }
    return isMade
  }

  /// Commits the roster and the first head; returns `nil` if another change was made instead.
  private func commit(
    _ next: NextGeneration, after known: KnownVault, without removed: RecordID?
  ) async throws(StorageError) -> SharedVault.Invitation? {
    var roster =
      if let announced = next.announced, announced.before == known.roster.digest { announced } else
      { try roster(of: next, after: known, without: removed) }
    roster.time = options.now()
    let rosterRecord = roster.encoded(
      signedBy: key, index: UInt32(try adminIndex(in: known.roster.roster)))
    let verified = try VerifiedRoster(verifying: rosterRecord, after: known.roster)
    let keys = next.keys
    var head = head(.generation, after: known)
    (head.roster, head.sum) = (verified.digest, next.sum)
    let record = keys.encode(head, signedBy: options.machine, nonce: options.random(24))
    let point = try keys.verifyNextHead(
      record, after: known.head, in: [known.roster, verified]
    ).point
    let entry = RecordName.logEntry(generation: keys.generation, sequence: head.sequence)
    let commit = Commit(
      expected: .init(generation: known.keys.generation, bytes: known.headRecord),
      puts: [
        .roster(number: roster.number): rosterRecord,
        .head(generation: keys.generation): record, entry: record,
      ], deletes: [.head(generation: known.keys.generation)])
    var isMade = false
    try await settle(commit) { () throws(StorageError) in
      var chain = HeadChain(after: known, copy: nil)
      try await cluster.readLog(&chain)
      isMade = chain.rosterOfNextGeneration?.record == rosterRecord
      return chain.beginsGeneration || chain.last.headRecord != known.headRecord
    }
    guard isMade else { return nil }
    return SharedVault.Invitation(
      vault: keys.vault, admin: key.publicKey, roster: roster.number, head: point)
  }

  /// Deletes what is left of generations that have ended, as far as the cluster can be reached.
  func remove(_ generations: Range<UInt32>) async {
    for generation in generations { try? await remove(generation) }
  }

  /// Deletes the rows and the marker of a generation that has ended, or that never began.
  private func remove(_ generation: UInt32) async throws(StorageError) {
    try await delete([.head(generation: generation), .announcement(generation: generation)])
    // Several at once, because the order does not matter.
    let problem = await withTaskGroup(of: StorageError?.self) { group async -> StorageError? in
      for byte in UInt8.min ... .max {
        if byte >= removalsAtOnce, let problem = await group.next() ?? nil {
          group.cancelAll()
          return problem
        }
        group.addTask { () -> StorageError? in
          do throws(StorageError) {
            try await removeRows(of: generation, beginningWith: byte)
          } catch {
            return error
          }
          return nil
        }
      }
      return await group.first { $0 != nil } ?? nil
    }
    if let problem { throw problem }
  }

  private func removeRows(
    of generation: UInt32, beginningWith byte: UInt8
  ) async throws(StorageError) {
    let first = ListRequest(generation: generation, firstByte: byte)
    try await cluster.eachPage(from: first) { rows throws(StorageError) in
      try await delete(rows.map { .row(generation: generation, key: $0.key) })
    }
  }

  private func delete(_ names: [RecordName]) async throws(StorageError) {
    for first in stride(from: 0, to: names.count, by: mostRows) {
      let some = Set(names[first..<min(first + mostRows, names.count)])
      _ = try await repeating { () throws(StorageError) in
        try await cluster.commit(Commit(expected: nil, deletes: some))
      }
    }
  }

  /// Calls the cluster until it answers.
  private func repeating<Answer>(
    _ call: () async throws(StorageError) -> Answer
  ) async throws(StorageError) -> Answer {
    for attempt in 1... {
      do throws(StorageError) { return try await call() } catch {
        guard error.code == .unavailable, attempt < mostAttempts else { throw error.unchanged }
      }
      await options.backOff(before: attempt)
    }
    throw .noAnswer
  }
}

extension StorageError {
  fileprivate static let lostRows = untrusted(
    "the cluster does not have the rows that were written with the new key")
  fileprivate static let removesItself = refused(
    "a machine cannot remove itself", hint: "run the command on another machine of the vault")
  fileprivate static let noMember = refused(
    "the vault has no such machine", hint: "`kistd vault members` lists the machines")
}
