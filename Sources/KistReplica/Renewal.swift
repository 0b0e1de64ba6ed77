package import KistCluster
package import KistCore
internal import KistShared
package import KistSodium
package import KistVault
internal import Synchronization

extension SharedVault {
  /// A vault after it got a new key: everything for a new copy, and for the note beside it.
  package struct Renewal: Sendable {
    /// The new key.
    package let master: GuardedKey
    /// The store id of the new key: 16 bytes.
    package let storeID: [UInt8]
    /// All rows, and the state that they lead to.
    package let content: CopyChange
    /// The note to write beside the copy.
    package let note: [UInt8]
  }

  /// Reads the vault with its newest key; returns `nil` if this machine has that key already.
  ///
  /// Throws `denied` if this machine was removed from the vault.
  ///
  /// - Parameter note: the note beside the copy on this machine.
  package static func renewal(
    after note: [UInt8]?, on cluster: Cluster, _ options: ReplicaOptions
  ) async throws(StorageError) -> Renewal? {
    let known = try KnownVault(noted: note, by: options.machine)
    var chain = HeadChain(after: known, copy: nil)
    try await cluster.readLog(&chain)
    guard chain.beginsGeneration else { return nil }
    for attempt in 0..<mostAttempts {
      var beginning: Beginning?
      while chain.beginsGeneration {
        let next = try await cluster.beginning(after: &chain, for: options.machine)
        chain = HeadChain(after: next.known, copy: nil)
        try await cluster.readLog(&chain)
        beginning = next
      }
      let asOf = options.now()
      let reading = try await cluster.head(chain.last.keys.generation)
      if reading.head == chain.last.headRecord {
        let (last, keys) = (chain.last, chain.last.keys)
        let rows = try await cluster.rows(of: keys, last.head, at: reading.position)
        let master =
          if let beginning { beginning.master } else {
            try last.roster.roster.openMaster(with: options.machine).master
          }
        return Renewal(
          master: master, storeID: keys.store.storeID,
          content: CopyChange(rows: rows.mapValues { .some($0) }, state: last.state),
          note: last.note(asOf: asOf).encoded(signedBy: options.machine))
      }
      // Another change was made meanwhile.
      await options.backOff(before: attempt)
      try await cluster.readLog(&chain)
    }
    throw .keepsChanging
  }
}

extension Replica {
  /// The number of rows to seal before other tasks get a turn.
  private static let rowsAtOnce = 256

  /// Makes everything for a copy with the new key of the vault; returns `nil` if it has none.
  ///
  /// It seals the rows of the copy again. If these are not the rows of the vault, it reads those.
  /// Throws `denied` if this machine was removed from the vault.
  func renewal() async throws(StorageError) -> SharedVault.Renewal? {
    do throws(StorageError) { if let found = try await resealed() { return found } } catch {
      if error == .notMember { throw error }
    }
    return try await SharedVault.renewal(after: try copy.note(), on: cluster, options)
  }

  /// Seals the rows of the copy with the new key; returns `nil` if they are not the rows of the vault.
  private func resealed() async throws(StorageError) -> SharedVault.Renewal? {
    let (old, next, rows) = try await turn.take { () throws(StorageError) in
      try await lastRows()
    }
    var (sealed, sum) = ([RowTag: SealedRow?](), RowSum.zero)
    for row in rows {
      let new = try next.known.keys.reseal(row, of: old).row
      sealed[new.identity.tag] = new
      sum += next.known.keys.store.hash(of: new)
      if sealed.count % Self.rowsAtOnce == 0 { await Task.yield() }
    }
    let state = next.known.state
    guard sum == state.sum, UInt64(sealed.count) == state.count else { return nil }
    return SharedVault.Renewal(
      master: next.master, storeID: next.known.keys.store.storeID,
      content: CopyChange(rows: sealed, state: state),
      note: next.known.note(asOf: self.state.withLock(\.asOf)).encoded(signedBy: options.machine))
  }

  /// Returns the first state of the next generation, and the last rows of this one with their keys.
  ///
  /// The caller has the turn.
  private func lastRows() async throws(StorageError) -> (
    GenerationKeys, Beginning, [SealedRow]
  ) {
    let (known, copied) = (try known(), try copy.state())
    var chain = HeadChain(after: known, copy: copied)
    try await cluster.readLog(&chain)
    let next = try await cluster.beginning(after: &chain, for: options.machine)
    guard let (base, heads) = try chain.split(at: copied) else { throw .keepsChanging }
    // An admin deletes these rows soon, but most copies have them.
    let records = try await cluster.rows(savedBy: heads, known.keys.generation)
    let changed = try known.keys.verifyRows(of: heads, after: base, records, replaced: copiedRow)
    let rows = try await copy.rows().filter {
      !changed.keys.contains(RecordID($0.identity.tag.key))
    }
    return (known.keys, next, rows + changed.values.compactMap(\.self))
  }
}

/// The first state of a generation, and its key.
struct Beginning {
  let known: KnownVault
  let master: GuardedKey
}

extension Cluster {
  /// Reads and verifies the first head of the generation after a chain.
  ///
  /// Throws `denied` if the machine is not a member of that generation.
  func beginning(
    after chain: inout HeadChain, for machine: MachineIdentity,
    _ see: (VerifiedHead) -> Void = { _ in }
  ) async throws(StorageError) -> Beginning {
    guard let next = chain.rosterOfNextGeneration else {
      throw .internal("the vault has no other generation")
    }
    // The log of a generation is complete once the roster of the next one exists.
    try await readLog(&chain, see)
    let (master, keys) = try next.roster.roster.openMaster(with: machine)
    let sequence = chain.last.head.head.sequence + 1
    let records = try await records([
      .logEntry(generation: keys.generation, sequence: sequence)
    ])
    guard records.count == 1 else { throw .wrongAnswer }
    guard let record = records[0] else {
      throw .rolledBack("the cluster does not have the first head of the vault's new key")
    }
    let head = try keys.verifyNextHead(
      record, after: chain.last.head, in: [chain.last.roster, next.roster])
    let known = KnownVault(
      keys: keys, rosterRecord: next.record, roster: next.roster, headRecord: record, head: head)
    return Beginning(known: known, master: master)
  }
}
