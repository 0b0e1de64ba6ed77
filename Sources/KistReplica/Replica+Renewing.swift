internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistSodium
internal import KistVault
internal import Synchronization

/// A copy for the next generation, which is made while the present one goes on.
struct NextCopy: Sendable {
  /// The hash of its master key, as in the roster.
  let key: Digest
  let copy: LocalCopy
  /// The tags of its rows, by their key tags under the present key.
  let tags: [RecordID: RowTag]
}

extension Replica {
  /// The number of rows to seal before other tasks get a turn.
  private static let rowsAtOnce = 256

  /// Makes a copy for each generation that an admin announces, until the task is cancelled.
  ///
  /// So the last changes are all that is left to do when the generation begins.
  func prepareGenerations() async {
    for await _ in announcements.stream {
      // Without it, the whole copy is made when the generation begins.
      try? await renewing.take { () throws(StorageError) in try await makeNextCopy() }
    }
  }

  /// Closes the copy for the next generation, and forgets it.
  func discardNextCopy() async {
    let next = state.withLock { state in
      defer { (state.next, state.changed) = (nil, nil) }
      return state.next
    }
    await next?.copy.storage.close()
  }

  /// The caller has the turn to renew.
  private func makeNextCopy() async throws(StorageError) {
    guard let make = options.makeNextCopy else { return }
    let known = try known()
    let record = try await cluster.read(.announcement(generation: known.keys.generation))
    guard let record else { return }
    let roster = try known.roster.announced(record)
    let isNew = state.withLock { !$0.isRenewed && $0.next?.key != roster.keyCheck }
    guard roster.generation != known.keys.generation, isNew else { return }
    let (master, keys) = try roster.openMaster(with: options.machine)
    await discardNextCopy()
    do throws(StorageError) {
      let (rows, copied) = try await turn.take { () throws(StorageError) in
        let rows = try await copy.rows()
        state.withLock { $0.changed = [] }
        return (rows, try copy.state())
      }
      let (sealed, sum) = try await seal(rows, of: known.keys, with: keys)
      let content = CopyChange(
        storing: sealed,
        state: VaultState(
          sequence: copied.sequence, count: copied.count, epoch: copied.epoch, sum: sum))
      let next = NextCopy(
        key: roster.keyCheck, copy: try await make(master, keys.store.storeID, content),
        tags: sealed.mapValues(\.identity.tag))
      let isUseful = state.withLock { state in
        // Without the changes, all rows were replaced.
        if state.isClosed || state.changed == nil { return false }
        state.next = next
        return true
      }
      if !isUseful { await next.copy.storage.close() }
    } catch {
      await discardNextCopy()
      throw error
    }
  }

  /// Seals rows with the keys of another generation; returns them by their key tags before.
  private func seal(
    _ rows: [SealedRow], of old: GenerationKeys, with keys: GenerationKeys
  ) async throws(StorageError) -> ([RecordID: SealedRow], RowSum) {
    var (sealed, sum) = ([RecordID: SealedRow](minimumCapacity: rows.count), RowSum.zero)
    for row in rows {
      let new = try keys.reseal(row, of: old).row
      sealed[RecordID(row.identity.tag.key)] = new
      sum += keys.store.hash(of: new)
      if sealed.count % Self.rowsAtOnce == 0 { await Task.yield() }
    }
    return (sealed, sum)
  }

  /// Makes everything for a copy with the new key of the vault; returns `nil` if it has none.
  ///
  /// It completes the copy that was made ahead, or seals the rows of the copy again. If these are not
  /// the rows of the vault, it reads those. Throws `denied` if this machine was removed from the vault.
  func renewal() async throws(StorageError) -> SharedVault.Renewal? {
    do throws(StorageError) {
      let found = try await renewing.take { () throws(StorageError) -> SharedVault.Renewal? in
        // From now on, another announcement must not replace the copy.
        state.withLock { $0.isRenewed = true }
        let completed = try? await completed()
        await discardNextCopy()
        return if let completed { completed } else { try await resealed() }
      }
      if let found { return found }
    } catch {
      if error == .notMember { throw error }
    }
    return try await SharedVault.renewal(after: try copy.note(), on: cluster, options) {
      _ throws(StorageError) in try copy.state()
    }
  }

  /// Applies the last changes to the copy that was made ahead.
  ///
  /// Returns `nil` if no copy was made, or one for another generation.
  private func completed() async throws(StorageError) -> SharedVault.Renewal? {
    guard let next = state.withLock(\.next) else { return nil }
    return try await turn.take { () throws(StorageError) in
      let end = try await endOfGeneration()
      guard next.key == end.next.known.roster.roster.keyCheck else { return nil }
      var rows = end.changed
      for key in state.withLock(\.changed) ?? [] where rows[key] == nil {
        rows[key] = .some(try copiedRow(key))
      }
      for (key, row) in rows {
        if let row { rows[key] = try end.next.known.keys.reseal(row, of: end.keys).row }
      }
      try await next.copy.apply(
        CopyChange(storing: rows, replacing: { next.tags[$0] }, state: end.next.known.state))
      return makeRenewal(end.next, nil)
    }
  }

  /// Seals the rows of the copy with the new key; returns `nil` if they are not the rows of the vault.
  private func resealed() async throws(StorageError) -> SharedVault.Renewal? {
    let (end, rows) = try await turn.take { () throws(StorageError) in
      let end = try await endOfGeneration()
      let rows = try await copy.rows().filter {
        end.changed[RecordID($0.identity.tag.key)] == nil
      }
      return (end, rows + end.changed.values.compactMap(\.self))
    }
    let (sealed, sum) = try await seal(rows, of: end.keys, with: end.next.known.keys)
    let state = end.next.known.state
    guard sum == state.sum, UInt64(sealed.count) == state.count else { return nil }
    return makeRenewal(end.next, CopyChange(storing: sealed, state: state))
  }

  private func makeRenewal(_ next: Beginning, _ content: CopyChange?) -> SharedVault.Renewal {
    SharedVault.Renewal(
      master: next.master, storeID: next.known.keys.store.storeID, epoch: next.known.state.epoch,
      content: content,
      note: next.known.note(asOf: state.withLock(\.asOf)).encoded(signedBy: options.machine))
  }

  /// The end of a generation, whose keys these are.
  private struct EndOfGeneration {
    let keys: GenerationKeys
    /// The last rows that the copy does not have, by their key tags; `nil` for a deleted one.
    let changed: [RecordID: SealedRow?]
    let next: Beginning
  }

  /// Reads the last changes of this generation, and the first state of the next one.
  ///
  /// The caller has the turn.
  private func endOfGeneration() async throws(StorageError) -> EndOfGeneration {
    let (known, copied) = (try known(), try copy.state())
    var chain = HeadChain(after: known, copy: copied)
    try await cluster.readLog(&chain)
    let next = try await cluster.beginning(after: &chain, for: options.machine)
    guard let (base, heads) = try chain.split(at: copied) else { throw .keepsChanging }
    // An admin deletes these rows soon, but most copies have them.
    let records = try await cluster.rows(savedBy: heads, known.keys.generation)
    let changed = try known.keys.verifyRows(of: heads, after: base, records, replaced: copiedRow)
    return EndOfGeneration(keys: known.keys, changed: changed, next: next)
  }
}

extension CopyChange {
  /// Stores the rows of an empty copy.
  init(storing rows: [RecordID: SealedRow], state: VaultState) {
    self.init(rows: [:], state: state)
    for row in rows.values { self.rows[row.identity.tag] = .some(row) }
  }
}
