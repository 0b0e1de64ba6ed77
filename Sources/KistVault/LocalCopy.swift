package import KistCore

/// The copy of a shared vault on this machine, as functions.
///
/// The copy is a store of its own: its rows, its store id and its keys are those of the vault's
/// generation. So it can be read, checked and backed up without the other machines.
package struct LocalCopy: Sendable {
  /// The store; its functions that change credentials or key slots must not be used.
  package var storage: OpenStorage
  /// Returns the state of the vault that the rows in the copy belong to.
  package var state: @Sendable () throws(StorageError) -> VaultState
  /// Returns a row; `nil` if there is none.
  package var row: @Sendable (RowTag) throws(StorageError) -> SealedRow?
  /// Returns all rows; throws `corrupt` if they are not those of the state.
  package var rows: @Sendable () async throws(StorageError) -> [SealedRow]
  /// Returns the tags of all rows.
  package var tags: @Sendable () async throws(StorageError) -> [RowTag]
  /// Applies a change; it is on disk when this returns.
  ///
  /// Throws `corrupt`, and changes nothing, if the rows do not lead to the state of the change.
  package var apply: @Sendable (CopyChange) async throws(StorageError) -> Void
  /// Applies a change that reads show at once; it may be on disk only after `flush`.
  ///
  /// The caller has verified that the rows lead to the state of the change.
  package var applyLater: @Sendable (CopyChange) async throws(StorageError) -> Void
  /// Writes the changes that are not on disk yet.
  package var flush: @Sendable () async throws(StorageError) -> Void = {}
  /// Does the same as `flush` if that failed before.
  package var retryFlush: @Sendable () async throws(StorageError) -> Void = {}
  /// Returns the note beside the copy; `nil` if there is none.
  package var note: @Sendable () throws(StorageError) -> [UInt8]?
  /// Replaces the note beside the copy.
  package var setNote: @Sendable ([UInt8]) throws(StorageError) -> Void

  /// Makes a copy from its functions; it applies each change at once.
  package init(
    storage: OpenStorage,
    state: @escaping @Sendable () throws(StorageError) -> VaultState,
    row: @escaping @Sendable (RowTag) throws(StorageError) -> SealedRow?,
    rows: @escaping @Sendable () async throws(StorageError) -> [SealedRow],
    tags: @escaping @Sendable () async throws(StorageError) -> [RowTag],
    apply: @escaping @Sendable (CopyChange) async throws(StorageError) -> Void,
    note: @escaping @Sendable () throws(StorageError) -> [UInt8]?,
    setNote: @escaping @Sendable ([UInt8]) throws(StorageError) -> Void
  ) {
    (self.storage, self.state, self.row) = (storage, state, row)
    (self.rows, self.tags, self.apply, self.note, self.setNote) = (rows, tags, apply, note, setNote)
    applyLater = apply
  }
}

/// The numbers of a vault after a change: the header of its copy, without the key slots.
package struct VaultState: Equatable, Sendable {
  /// The number of the change.
  package var sequence: UInt64
  /// The number of credentials.
  package var count: UInt64
  /// The random prefix of all revisions.
  package var epoch: Epoch
  /// The sum of the hashes of all rows.
  package var sum: RowSum

  package init(sequence: UInt64, count: UInt64, epoch: Epoch, sum: RowSum) {
    (self.sequence, self.count, self.epoch, self.sum) = (sequence, count, epoch, sum)
  }
}

/// Changes of a vault that were verified, to apply to a copy.
package struct CopyChange: Sendable {
  /// The rows that were saved, and `nil` for each that was deleted.
  package var rows: [RowTag: SealedRow?]
  /// The state after the changes.
  package var state: VaultState

  package init(rows: [RowTag: SealedRow?], state: VaultState) {
    (self.rows, self.state) = (rows, state)
  }

  /// The rows in the order of their addresses.
  ///
  /// Many rows are written much faster in this order, because a store has few of its pages in memory.
  package var rowsInOrder: [(tag: RowTag, row: SealedRow?)] {
    rows.map { (address: RowAddresses.of($0).lowerBound, change: (tag: $0, row: $1)) }
      .sorted { $0.address < $1.address }.map(\.change)
  }
}

extension Header {
  /// Makes a header without key slots, to plan a change of a vault.
  package init(_ state: VaultState) {
    self.init(epoch: state.epoch.number, slots: [])
    (sequence, count, sum) = (state.sequence, state.count, state.sum)
  }

  /// The numbers of the store without its key slots.
  package var vaultState: VaultState {
    VaultState(sequence: sequence, count: count, epoch: epoch, sum: sum)
  }
}

extension StoreKeys {
  /// Plans to store, replace or delete one row that another machine sealed.
  ///
  /// The sequence of the header does not change: `planEnd` sets it once all rows are planned. Throws
  /// `corrupt` if the header does not count the row that was found.
  package func plan(
    _ row: SealedRow?, on found: FoundRow, _ header: Header
  ) throws(StorageError) -> Plan<Void> {
    var header = header
    if found.row != nil, header.count == 0 { throw .wrongRows }
    header.replaceRow(found.row.map(hash(of:)), with: row.map(hash(of:)))
    let write: StoreWrite? =
      if let row { .putRow(row, at: found.address) } else if found.row != nil {
        .deleteRow(at: found.address)
      } else { nil }
    return Plan(writes: write.map { [$0] } ?? [], header: header, answer: ())
  }

  /// Plans the end of a change of a copy.
  ///
  /// Throws `corrupt` if the rows did not lead to this state.
  package func planEnd(of change: CopyChange, _ header: Header) throws(StorageError) -> Plan<Void> {
    var header = header
    header.sequence = change.state.sequence
    guard header.vaultState == change.state else { throw .wrongRows }
    return Plan(header: header, answer: ())
  }
}
