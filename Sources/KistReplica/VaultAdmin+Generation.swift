package import KistCluster
package import KistCore
internal import KistShared
internal import KistSodium
internal import KistVault

/// The maximum number of rows in one commit, and the maximum size of these rows in bytes.
private let (mostRows, mostRowBytes) = (100, 900_000)

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
    var known = try await current(after: KnownVault(noted: note, by: options.machine))
    _ = try adminIndex(in: known.roster.roster)
    guard removed != options.machine.id else { throw .removesItself }
    guard removed.map({ known.roster.roster.member($0) != nil }) ?? true else { throw .noMember }
    var next = try NextGeneration(
      after: known, master: GuardedKey.random(), storeID: options.random(16))
    do throws(StorageError) {
      try await removeRows(of: next.keys.generation)
      for attempt in 0..<mostAttempts {
        try await write(&next, from: known)
        if try await commit(&next, after: known, without: removed) {
          // The change is made, whatever becomes of the old rows.
          try? await removeRows(of: known.keys.generation)
          return next.credentials
        }
        known = try await current(after: known)
        _ = try adminIndex(in: known.roster.roster)
        await options.backOff(before: attempt)
      }
    } catch { throw error.outcome == nil ? error.unchanged : error }
    throw .othersChange
  }

  private func current(after known: KnownVault) async throws(StorageError) -> KnownVault {
    do throws(StorageError) { return try await newest(after: known) } catch {
      throw error.unchanged
    }
  }

  /// Writes all rows that the next generation does not have yet, and deletes those that are gone.
  private func write(
    _ next: inout NextGeneration, from known: KnownVault
  ) async throws(StorageError) {
    let reading = try await cluster.head(known.keys.generation)
    // Otherwise the last commit fails, and all is tried again.
    guard reading.head == known.headRecord else { return }
    let rows = try await cluster.rows(of: known.keys, known.head, at: reading.position)
    let generation = next.keys.generation
    var (puts, size) = ([RecordName: [UInt8]](), 0)
    for (tag, row) in rows where next.sequences[tag] != row.identity.sequence {
      let (key, record) = try next.seal(row, nonces: options.random(72))
      if puts.count == mostRows || size + record.count > mostRowBytes {
        try await send(Commit(expected: .init(generation: generation, bytes: nil), puts: puts))
        (puts, size) = ([:], 0)
      }
      puts[.row(generation: generation, key: key)] = record
      size += record.count
    }
    if !puts.isEmpty {
      try await send(Commit(expected: .init(generation: generation, bytes: nil), puts: puts))
    }
    try await delete(next.forget(allBut: rows), in: generation)
  }

  /// Commits the roster and the first head; returns `false` if another change was made instead.
  private func commit(
    _ next: inout NextGeneration, after known: KnownVault, without removed: RecordID?
  ) async throws(StorageError) -> Bool {
    let before = known.roster.roster
    let index = try adminIndex(in: before)
    let (keys, master) = (next.keys, next.master)
    let members = try before.members.filter { $0.keys.id != removed }
      .map { member throws(StorageError) in
        try Member(
          member.keys, member.role, name: try known.keys.name(of: member), added: member.added,
          until: member.until, wrapping: master, of: keys, nonce: options.random(24))
      }
    // The key of a removed recovery member must not sign the next roster.
    let gone = removed.flatMap { before.member($0)?.keys.signing }
    let roster = Roster(
      keys, number: before.number + 1, before: known.roster.digest, time: options.now(),
      admins: before.admins.filter { $0 != gone }, members: members
    ).encoded(signedBy: key, index: UInt32(index))
    let verified = try VerifiedRoster(verifying: roster, after: known.roster)
    var head = known.head.head
    head.sequence += 1
    (head.roster, head.before, head.change) = (verified.digest, known.head.digest, .generation)
    (head.time, head.operation, head.sum) = (options.now(), newID(), next.sum)
    // Rows that were not read: another change was made.
    guard next.count == head.count else { return false }
    let record = keys.encode(head, signedBy: options.machine, nonce: options.random(24))
    _ = try keys.verifyNextHead(record, after: known.head, in: [known.roster, verified])
    let entry = RecordName.logEntry(generation: keys.generation, sequence: head.sequence)
    let commit = Commit(
      expected: .init(generation: known.keys.generation, bytes: known.headRecord),
      puts: [
        .roster(number: before.number + 1): roster, .head(generation: keys.generation): record,
        entry: record,
      ], deletes: [.head(generation: known.keys.generation)])
    var isMade = false
    try await settle(commit) { () throws(StorageError) in
      isMade = try await cluster.records([entry]) == [record]
      if isMade { return true }
      return try await cluster.head(known.keys.generation).head != known.headRecord
    }
    return isMade
  }

  /// Deletes all rows of a generation: leftovers of an attempt, or those of the old key.
  private func removeRows(of generation: UInt32) async throws(StorageError) {
    for byte in UInt8.min ... .max {
      var request = ListRequest(generation: generation, firstByte: byte)
      while case .page(let page) = try await cluster.list(request), !page.rows.isEmpty {
        try await delete(page.rows.map(\.key), in: generation)
        request.after = page.rows.last?.key
        if page.isLast { break }
      }
    }
  }

  private func delete(_ keys: [RecordID], in generation: UInt32) async throws(StorageError) {
    for first in stride(from: 0, to: keys.count, by: mostRows) {
      let names = keys[first..<min(first + mostRows, keys.count)].map {
        RecordName.row(generation: generation, key: $0)
      }
      try await send(Commit(expected: nil, deletes: Set(names)))
    }
  }

  /// Sends a commit that can be repeated until it is made.
  private func send(_ commit: Commit) async throws(StorageError) {
    for attempt in 1... {
      do throws(StorageError) {
        guard case .committed = try await cluster.commit(commit) else { throw .othersChange }
        return
      } catch {
        guard error.code == .unavailable, attempt < mostAttempts else { throw error.unchanged }
      }
      await options.backOff(before: attempt)
    }
  }
}

/// A generation that is being written.
private struct NextGeneration {
  let master: GuardedKey
  let keys: GenerationKeys
  private let old: GenerationKeys
  private let epoch: Epoch
  /// The written rows, by their tags under the old key.
  private var written: [RowTag: (key: RecordID, hash: RowSum, summary: CredentialSummary)] = [:]
  private(set) var sequences: [RowTag: UInt64] = [:]

  init(after known: KnownVault, master: GuardedKey, storeID: [UInt8]) throws(StorageError) {
    (self.master, old, epoch) = (master, known.keys, known.state.epoch)
    keys = try GenerationKeys(
      master: master, vault: known.keys.vault, generation: known.keys.generation + 1,
      storeID: storeID)
  }

  var count: UInt64 { UInt64(written.count) }

  var sum: RowSum {
    var sum = RowSum.zero
    for row in written.values { sum += row.hash }
    return sum
  }

  /// The credentials, in the order of their keys.
  var credentials: [CredentialSummary] {
    written.values.map(\.summary).sorted { $0.key < $1.key }
  }

  /// Seals a row again, with the same sequence; returns its key tag and its record.
  mutating func seal(
    _ row: SealedRow, nonces random: [UInt8]
  ) throws(StorageError) -> (RecordID, [UInt8]) {
    let sequence = row.identity.sequence
    let metadata = try old.store.openMetadata(row.metadata.span, as: row.identity)
    let opened = try old.store.openRow(row.secret.span, of: metadata, as: row.identity)
    let summary = opened.metadata.summary(at: epoch.revision(of: sequence))
    var nonces = Nonces(random)
    let placeNonce = nonces.next()
    let new = keys.store.seal(
      opened.metadata, opened.secret, opened.secretFields,
      as: RowIdentity(tag: keys.store.tag(of: summary.key), sequence: sequence), &nonces)
    let key = RecordID(new.identity.tag.key)
    written[row.identity.tag] = (key, keys.store.hash(of: new), summary)
    sequences[row.identity.tag] = sequence
    return (key, keys.encode(new, nonce: placeNonce))
  }

  /// Forgets rows that were deleted under the old key; returns their key tags.
  mutating func forget(allBut rows: [RowTag: SealedRow]) -> [RecordID] {
    var gone: [RecordID] = []
    for (tag, row) in written where rows[tag] == nil {
      gone.append(row.key)
      (written[tag], sequences[tag]) = (nil, nil)
    }
    return gone
  }
}

extension StorageError {
  fileprivate static let removesItself = refused(
    "a machine cannot remove itself", hint: "run the command on another machine of the vault")
  fileprivate static let noMember = refused(
    "the vault has no such machine", hint: "`kistd vault members` lists the machines")
}
