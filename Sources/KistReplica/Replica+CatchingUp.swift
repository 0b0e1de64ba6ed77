internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistVault
internal import Synchronization

/// The number of attempts to read a state that other machines keep changing.
let mostAttempts = 16
/// The number of changed credentials after which a copy for the next generation is not completed any more.
private let mostLaterChanges = 100_000

extension Replica {
  /// Reads the head, and applies all changes up to it to the copy.
  ///
  /// The caller has the turn. Throws `unavailable` if the cluster cannot be reached, and `corrupt` if
  /// an answer fails verification. The copy then stays as it is.
  ///
  /// - Parameter own: a commit of this machine. If it made the head, nothing else must be read.
  /// - Parameter see: is called with each new head, as soon as it is verified. A later error does not
  ///   change that the head is in the history.
  func catchUp(
    after own: Commit? = nil, _ see: (VerifiedHead) -> Void = { _ in }
  ) async throws(StorageError) {
    do throws(StorageError) { try await readChanges(after: own, see) } catch {
      state.withLock { ($0.confirmedAt, $0.problem) = (nil, error) }
      // A machine that was removed learns it from the roster of the next generation.
      if error == .newGeneration || error == .notMember { options.whenGenerationBegins(renewal) }
      throw error
    }
  }

  /// Applies a commit that the cluster reported; returns `false` if the caller must read the head.
  ///
  /// The caller has the turn. It does not confirm the head, because a report may be late.
  func apply(_ writes: CommittedWrites) async throws(StorageError) -> Bool {
    let known = try known()
    if let position = state.withLock(\.position), writes.position <= position { return true }
    let head = writes.puts[.head(generation: known.keys.generation)]
    return try await apply(writes, after: known, head: head, since: nil) { _ in }
  }

  /// Applies the writes of a commit, if they follow the known head; returns whether they do.
  private func apply(
    _ writes: CommittedWrites, after known: KnownVault, head: [UInt8]?, since start: Moment?,
    _ see: (VerifiedHead) -> Void
  ) async throws(StorageError) -> Bool {
    let copied = try copy.state()
    guard let head, copied == known.state else { return false }
    var chain = HeadChain(after: known, copy: copied)
    do throws(StorageError) { try chain.addHead(head) } catch { return false }
    see(chain.last.head)
    var rows: [RecordID: [UInt8]] = [:]
    for case (.row(_, let key), let bytes) in writes.puts { rows[key] = bytes }
    try await store(
      chain, [chain.last.head], after: known.head, rows, at: writes.position, since: start)
    return true
  }

  private func readChanges(
    after own: Commit?, _ see: (VerifiedHead) -> Void
  ) async throws(StorageError) {
    let known = try known()
    let start = options.moment()
    state.withLock { $0.adapterWarnings = [] }
    let reading = try await cluster.head(known.keys.generation)
    state.withLock { $0.adapterWarnings = reading.warnings }
    if reading.head == known.headRecord, try copy.state() == known.state {
      try await copy.retryFlush()
      return advance(to: known, confirmedAt: start, reading.position, storing: [:], events: [])
    }
    if let own, own.puts[.head(generation: known.keys.generation)] == reading.head {
      let writes = CommittedWrites(
        position: reading.position, puts: own.puts, deletes: own.deletes)
      let isApplied = try await apply(
        writes, after: known, head: reading.head, since: start, see)
      if isApplied { return }
    }
    var chain = HeadChain(after: known, copy: try? copy.state())
    try await cluster.extend(&chain, to: reading.head, for: options.machine, see)
    guard reading.head != nil else { throw .lostHead }
    guard let first = try chain.split(at: try copy.state()) else {
      return try await replaceCopy(chain, at: reading, since: start)
    }
    var (base, heads) = first
    for attempt in 1... {
      do throws(StorageError) {
        let rows = try await cluster.rows(savedBy: heads, known.keys.generation)
        return try await store(
          chain, heads, after: base, rows, at: reading.position, since: start)
      } catch {
        // A row may be of a later change than the log that was read before it.
        let before = chain.last.headRecord
        guard error.code == .corrupt, attempt < mostAttempts else { throw error }
        try await cluster.extend(&chain, to: nil, for: options.machine, see)
        guard chain.last.headRecord != before, let split = try chain.split(at: try copy.state())
        else { throw error }
        (base, heads) = split
      }
    }
  }

  /// Verifies the rows of some heads, and applies them to the copy.
  ///
  /// - Parameter start: when a read of the last head began. `nil` if the cluster reported the change: then
  ///   it is written to the disk later.
  private func store(
    _ chain: HeadChain, _ heads: [VerifiedHead], after base: VerifiedHead,
    _ records: [RecordID: [UInt8]], at position: ClusterPosition, since start: Moment?
  ) async throws(StorageError) {
    let (keys, last) = (chain.start.keys, chain.last)
    let rows = try keys.verifyRows(of: heads, after: base, records, replaced: copiedRow)
    // If the copy is ahead of the known head, an earlier write has landed although it failed.
    let events =
      try base == chain.start.head ? self.events(of: heads, rows, keys.store) : [.reset]
    if !heads.isEmpty {
      let change = CopyChange(storing: rows, replacing: tag(of:), state: last.state)
      // Known before they are stored, because the outcome of a failed write is not known.
      let changed = state.withLock { state in
        for case (let key, let row?) in rows { state.services[key] = row.identity.tag.service }
        state.changed?.formUnion(rows.keys)
        return state.changed?.count ?? 0
      }
      if changed > mostLaterChanges { await discardNextCopy() }
      try await start == nil ? copy.applyLater(change) : copy.apply(change)
    }
    if heads.contains(where: { $0.head.change == .announcement }) {
      announcements.continuation.yield()
    }
    let areNew = start == nil && trustsAbsence
    for head in heads { compareTime(of: head, wasMadeNow: areNew) }
    advance(to: last, confirmedAt: start, position, storing: rows, events: events)
    if start == nil { changesToWrite.continuation.yield() } else { writeNoteIfDue() }
  }

  /// Returns the row that the copy has under a key tag; `nil` if it has none.
  func copiedRow(_ key: RecordID) throws(StorageError) -> SealedRow? {
    guard let tag = tag(of: key) else { return nil }
    return try copy.row(tag)
  }

  /// Returns the tags under which the copy has a row; `nil` if it has none.
  private func tag(of key: RecordID) -> RowTag? {
    // An id has as many bytes as a tag.
    state.withLock { $0.services[key] }.map { RowTag(service: $0, key: Tag(key.bytes.span)!) }
  }

  /// Returns the last change of each credential, in the order of the changes.
  private func events(
    of heads: [VerifiedHead], _ rows: [RecordID: SealedRow?], _ keys: StoreKeys
  ) throws(StorageError) -> [CredentialChange] {
    var reported: Set<RecordID> = []
    var events: [CredentialChange] = []
    for head in heads.map(\.head).reversed() {
      guard let key = head.change.key, reported.insert(key).inserted else { continue }
      let revision = head.epoch.revision(of: head.sequence)
      let new = rows[key] ?? nil
      // A credential that was saved and deleted since then was never in the copy.
      guard let row = if let new { new } else { try copiedRow(key) } else { continue }
      // A dishonest writer can seal something else than a credential.
      guard
        let name = try? keys.openMetadata(row.metadata.span, as: row.identity).summary(at: revision)
          .key
      else { return [.reset] }
      events.append(new == nil ? .deleted(name, revision) : .saved(name, revision))
    }
    return events.reversed()
  }

  /// Makes the copy again from all rows, because it is older than what this machine knows, or much
  /// older than the head.
  private func replaceCopy(
    _ chain: HeadChain, at reading: HeadReading, since start: Moment
  ) async throws(StorageError) {
    let last = chain.last
    guard last.headRecord == reading.head else { throw .keepsChanging }
    let rows = try await cluster.rows(of: last.keys, last.head, at: reading.position)
    let services = rows.keys.map { (RecordID($0.key), $0.service) }
    // Known before they are stored, because the outcome of a failed write is not known.
    state.withLock { $0.services.merge(services) { $1 } }
    await discardNextCopy()
    try await copy.apply(
      CopyChange(leaving: rows, instead: try await copy.tags(), state: last.state))
    advance(
      to: last, confirmedAt: start, reading.position, storing: [:], events: [.reset])
    writeNoteIfDue()
  }
}

extension Cluster {
  /// Reads and verifies all changes after a known head.
  ///
  /// Throws `newGeneration` if the vault has a new key.
  func verifiedChanges(
    after known: KnownVault, for machine: MachineIdentity
  ) async throws(StorageError) -> HeadChain {
    let head = try await head(known.keys.generation).head
    var chain = HeadChain(after: known, copy: nil)
    try await extend(&chain, to: head, for: machine)
    guard head != nil else { throw .lostHead }
    return chain
  }

  /// Adds all rosters and log entries that the cluster has, and a head that it answered.
  ///
  /// Throws `newGeneration` if the vault has a new key.
  ///
  /// - Parameter see: is called with each new head; also with the first one of the next generation.
  func extend(
    _ chain: inout HeadChain, to head: [UInt8]?, for machine: MachineIdentity,
    _ see: (VerifiedHead) -> Void = { _ in }
  ) async throws(StorageError) {
    try await readLog(&chain, see)
    if chain.beginsGeneration {
      see(try await beginning(after: &chain, for: machine, see).known.head)
      throw .newGeneration
    }
    if let head, !chain.contains(head) {
      try chain.addHead(head)
      see(chain.last.head)
    }
  }

  /// Adds all rosters and log entries that the cluster has.
  func readLog(
    _ chain: inout HeadChain, _ see: (VerifiedHead) -> Void = { _ in }
  ) async throws(StorageError) {
    while true {
      let entries = chain.nextEntries
      var found = try await read([chain.nextRoster] + entries)
      // Rosters are few and may be large, so they are read one by one.
      while let roster = found[0] {
        try chain.addRoster(roster)
        found[0] = try await read(chain.nextRoster)
      }
      for record in found.dropFirst() {
        guard let record else { break }
        try chain.addHead(record)
        see(chain.last.head)
      }
      if found.dropFirst().contains(nil) { return }
    }
  }
}

extension StorageError {
  static let lostHead = rolledBack("the cluster does not have the head of the vault")
  static let keepsChanging = StorageError(
    .busy, "the cluster discarded its history while the vault was read", hint: "try again")
  static let newGeneration = StorageError(
    .busy, "the vault has a new key, with which kistd makes a new copy",
    hint: "try again in a moment; nothing was changed")
}
