import KistCore
import KistReplica
import KistShared
import KistSodium
import KistVault
import Synchronization

/// A run of a machine between two crashes.
final class Life: Sendable {
  private let isOver = Atomic(false)
  var isDead: Bool { isOver.load(ordering: .relaxed) }
  func end() { isOver.store(true, ordering: .relaxed) }
  func check() throws(StorageError) {
    if isDead { throw StorageError(.unavailable, "the machine crashed", outcome: .unknown) }
  }
}

/// The disk of a machine, with its copy of the vault; it survives crashes.
final class Disk: Sendable {
  /// A copy, and the note beside it.
  struct State {
    let keys: StoreKeys
    var rows: [RowTag: SealedRow] = [:]
    var vault: VaultState
    var note: [UInt8]?
  }

  let state = Mutex<State?>(nil)
  /// The copy that is made for the next key of the vault.
  private let next = Mutex<Disk?>(nil)

  var note: [UInt8]? { state.withLock { $0?.note } }

  /// Returns the state of the copy with a store id; `nil` if there is none.
  func copied(_ storeID: [UInt8]) -> VaultState? {
    state.withLock { $0?.keys.storeID == storeID ? $0?.vault : nil }
  }

  /// Makes an empty copy, in place of one that was not completed.
  func makeCopy(_ master: GuardedKey, _ storeID: [UInt8], _ epoch: Epoch) throws(StorageError) {
    let keys = try StoreKeys(master: master, storeID: storeID)
    let vault = VaultState(sequence: 0, count: 0, epoch: epoch, sum: .zero)
    state.withLock { $0 = State(keys: keys, vault: vault) }
  }

  /// Replaces the copy and its note by those with a new key of the vault.
  func replaceCopy(_ renewal: SharedVault.Renewal) throws(StorageError) {
    if let content = renewal.content {
      try write(content, renewal.master, renewal.storeID)
    } else {
      let made = next.withLock(\.self)?.state.withLock(\.self)
      guard let made, made.keys.storeID == renewal.storeID else {
        throw StorageError(.internal, "the next copy is missing")
      }
      state.withLock { $0 = made }
    }
    state.withLock { $0!.note = renewal.note }
    next.withLock { $0 = nil }
  }

  private func write(
    _ content: CopyChange, _ master: GuardedKey, _ storeID: [UInt8]
  ) throws(StorageError) {
    let keys = try StoreKeys(master: master, storeID: storeID)
    let rows = content.rows.compactMapValues(\.self)
    state.withLock { $0 = State(keys: keys, rows: rows, vault: content.state) }
  }

  /// Makes a copy for the next key of the vault, and opens it for one life of the machine.
  func makeNextCopy(
    _ master: GuardedKey, _ storeID: [UInt8], _ content: CopyChange, in life: Life,
    pause: @escaping @Sendable () async throws(StorageError) -> Void
  ) async throws(StorageError) -> LocalCopy {
    try await pause()
    let made = Disk()
    try made.write(content, master, storeID)
    next.withLock { $0 = made }
    try await pause()
    return made.copy(in: life, pause: pause)
  }

  /// Removes what an earlier life made for the next key of the vault.
  func discardNextCopy() { next.withLock { $0 = nil } }

  /// Opens the copy for one life of the machine.
  ///
  /// - Parameter pause: is called before and after each write, and may end the life.
  func copy(
    in life: Life, pause: @escaping @Sendable () async throws(StorageError) -> Void
  ) -> LocalCopy {
    let (keys, epoch) = state.withLock { ($0!.keys, $0!.vault.epoch) }
    let unused = StorageError(.internal, "the simulation does not use this")
    let credentials = UserStorage(
      save: { _ throws(StorageError) in throw unused },
      load: { request throws(StorageError) in
        try life.check()
        let row = self.state.withLock { $0!.rows[keys.tag(of: request.key)] }
        guard let row else { throw .notFound }
        return try keys.openCredential(
          row.metadata.span, row.secret.span, as: row.identity, foundBy: request.key, in: epoch)
      },
      delete: { _ throws(StorageError) in throw unused },
      find: { _ throws(StorageError) in throw unused })
    let access = StorageAccess(
      status: { () throws(StorageError) in throw unused },
      lock: { () throws(StorageError) in throw unused },
      unlock: { _ throws(StorageError) in throw unused })
    return LocalCopy(
      storage: OpenStorage(
        credentials: credentials, access: access, durability: .memory, close: {}),
      state: { () throws(StorageError) in
        try life.check()
        return self.state.withLock { $0!.vault }
      },
      row: { tag throws(StorageError) in
        try life.check()
        return self.state.withLock { $0!.rows[tag] }
      },
      rows: { () throws(StorageError) in
        try life.check()
        return self.state.withLock { Array($0!.rows.values) }
      },
      tags: { () throws(StorageError) in
        try life.check()
        return self.state.withLock { Array($0!.rows.keys) }
      },
      apply: { change throws(StorageError) in
        try await pause()
        try self.apply(change)
        try await pause()
      },
      note: { () throws(StorageError) in
        try life.check()
        return self.note
      },
      setNote: { note throws(StorageError) in
        try life.check()
        self.state.withLock { $0!.note = note }
      })
  }

  /// Applies a change with the same plan as the encrypted file.
  private func apply(_ change: CopyChange) throws(StorageError) {
    try state.withLock { state throws(StorageError) in
      var (header, rows) = (Header(state!.vault), state!.rows)
      let keys = state!.keys
      for (tag, row) in change.rows {
        header =
          try keys.plan(
            row, on: FoundRow(tag: tag, address: 0, row: rows[tag]), header
          ).header
        rows[tag] = row
      }
      header = try keys.planEnd(of: change, header).header
      (state!.rows, state!.vault) = (rows, header.vaultState)
    }
  }
}
