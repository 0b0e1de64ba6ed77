internal import Dispatch
internal import Glibc
package import KistCore
package import KistSodium
internal import KistSystem
package import KistVault

extension EncryptedFile {
  /// The keys and the number that a new copy of a shared vault has from the vault.
  package struct CopiedVault: Sendable {
    let master: GuardedKey
    let storeID: [UInt8]
    let epoch: Epoch

    /// Makes the values of a generation.
    package init(master: GuardedKey, storeID: [UInt8], epoch: Epoch) {
      (self.master, self.storeID, self.epoch) = (master, storeID, epoch)
    }
  }

  /// Opens the copy of a shared vault at the path of the options, or creates an empty one.
  ///
  /// Throws as `open` does, and if the store at the path is not a copy of this vault.
  ///
  /// - Parameter vault: the values for a new copy; `nil` if the copy must exist.
  /// - Parameter content: all rows of a new copy, and the state that they lead to; `nil` for an empty one.
  package static func openCopy(
    _ options: Options, of vault: CopiedVault? = nil, _ content: CopyChange? = nil
  ) async throws(StorageError) -> LocalCopy {
    var options = options
    if let vault {
      options.storeID = hexadecimal(vault.storeID)
      let (path, new) = (options.path, options)
      try await DispatchQueue(label: "kist.copying").run { () throws(StorageError) in
        try prepareDirectory(of: path)
        guard try !exists(path) else { return }
        try createCopy(new, of: vault, content)
      }
    }
    let (store, storage) = try await openStore(options)
    try? discardNextCopy(of: options.path)
    if let id = storage.id { finishReplacement(of: options.path, id: id) }
    return store.localCopy(storage, note: notePath(ofCopy: options.path))
  }

  /// Returns the state of a copy that is not open; `nil` if there is none with this store id.
  package static func state(
    ofCopy options: Options, storeID: [UInt8]
  ) async throws(StorageError) -> VaultState? {
    guard try exists(options.path) else { return nil }
    var options = options
    options.storeID = nil
    let copy = try await openCopy(options)
    let state: Result<VaultState, StorageError>
    do throws(StorageError) { state = .success(try copy.state()) } catch { state = .failure(error) }
    await copy.storage.close()
    return copy.storage.id == hexadecimal(storeID) ? try state.get() : nil
  }

  /// Returns the note beside a copy, also while another process has the copy open.
  package static func note(ofCopy path: String) throws(StorageError) -> [UInt8]? {
    let note = notePath(ofCopy: path)
    return try privateBytes(at: note, "note of the vault", limit: longestNote)
  }

  /// Makes and opens a copy with the next key of the vault, beside the copy that is open.
  ///
  /// `replaceCopy` puts it in the place of the copy, once both are closed.
  package static func makeNextCopy(
    _ options: Options, of vault: CopiedVault, _ content: CopyChange
  ) async throws(StorageError) -> LocalCopy {
    var next = options
    next.path = nextCopyPath(options.path)
    try discardNextCopy(of: options.path)
    return try await openCopy(next, of: vault, content)
  }

  /// Replaces the copy and its note by those with a new key of the vault.
  ///
  /// Throws `busy` if the copy is open. Unless the outcome is `unknown`, nothing was changed then.
  ///
  /// - Parameter content: all rows, and the state that they lead to; `nil` to take the next copy.
  package static func replaceCopy(
    _ options: Options, with vault: CopiedVault, _ content: CopyChange?, note: [UInt8]
  ) async throws(StorageError) {
    try await DispatchQueue(label: "kist.copying").run { () throws(StorageError) in
      let path = options.path
      let owner = try own(path)
      defer { owner.release() }
      let next = nextNotePath(ofCopy: path, id: hexadecimal(vault.storeID))
      // Written first: the next opening of the copy takes the note that belongs to it.
      _ = try writeWhole(note.span, to: next, replacing: true)
      do throws(StorageError) {
        if let content {
          // Makes space.
          try discardNextCopy(of: path)
          try createCopy(options, of: vault, content)
        } else {
          try refuseLog(of: path)
          try checkNextCopy(of: path, id: hexadecimal(vault.storeID))
          try UnfinishedStore(path: nextCopyPath(path)).rename(to: path)
        }
      } catch {
        if error.outcome != .unknown { unsafe unlink(next) }
        throw error
      }
      try flushDirectory(of: path)
      finishReplacement(of: path, id: hexadecimal(vault.storeID))
    }
  }

  /// Creates a copy with some rows, or without any.
  private static func createCopy(
    _ options: Options, of vault: CopiedVault, _ content: CopyChange?
  ) throws(StorageError) {
    try createStore(
      options, id: vault.storeID, master: vault.master, epoch: vault.epoch
    ) { database, keys, header throws(StorageError) in
      guard let content else { return }
      for case (let tag, let row?) in content.rowsInOrder {
        header.replaceRow(nil, with: keys.hash(of: row))
        try database.put(row, at: try database.find(tag).address)
      }
      header.sequence = content.state.sequence
      guard header.vaultState == content.state else {
        throw .internal("the rows of the new copy do not lead to its state")
      }
    }
  }

  /// Gives the note of a new copy its final name; does nothing if it has it already.
  private static func finishReplacement(of path: String, id: String) {
    unsafe rename(nextNotePath(ofCopy: path, id: id), notePath(ofCopy: path))
  }

  /// Throws unless the next copy has this id, and all its changes are in its database.
  private static func checkNextCopy(of path: String, id: String) throws(StorageError) {
    let next = nextCopyPath(path)
    guard case .store(id, _) = presence(at: next), try !exists(next + "-wal") else {
      throw StorageError(
        .unavailable, "the copy with the new key of the vault is not complete", outcome: .unchanged)
    }
  }

  /// Removes a next copy that is not used, and one that was not completed.
  private static func discardNextCopy(of path: String) throws(StorageError) {
    for suffix in ["", ".new"] {
      try UnfinishedStore(path: nextCopyPath(path) + suffix).discard()
    }
  }

  private static func nextCopyPath(_ path: String) -> String { path + ".next" }

  private static func notePath(ofCopy path: String) -> String { path + ".vault" }

  private static func nextNotePath(ofCopy path: String, id: String) -> String {
    notePath(ofCopy: path) + "-" + id
  }
}

extension FileStore {
  fileprivate func localCopy(_ storage: OpenStorage, note: String) -> LocalCopy {
    let path = options.path
    return LocalCopy(
      storage: storage,
      state: { () throws(StorageError) in
        try self.session().header(in: self.connections).vaultState
      },
      row: { tag throws(StorageError) in
        _ = try self.session()
        return try self.connections.read { database throws(StorageError) in
          try database.find(tag).row
        }
      },
      rows: { () throws(StorageError) in
        let keys = try self.session().keys
        var rows: [SealedRow] = []
        // A backup can take long.
        let isRead = try self.connections.snapshotIfFree { database throws(StorageError) in
          _ = try database.verifyRows(keys) { identity, metadata, secret in
            rows.append(
              SealedRow(
                identity: identity, metadata: [UInt8](copying: metadata),
                secret: [UInt8](copying: secret)))
            return .more
          }
        }
        guard isRead else {
          throw StorageError(.busy, "a backup of the copy is being made", hint: "try again")
        }
        return rows
      },
      tags: { () throws(StorageError) in
        let keys = try self.session().keys
        var tags: [RowTag] = []
        try self.connections.snapshot { database throws(StorageError) in
          _ = try database.verifyRows(keys, onlyEnds: true) { identity, _, _ in
            tags.append(identity.tag)
            return .more
          }
        }
        return tags
      },
      apply: { change throws(StorageError) in
        try await self.carryOut { transaction throws(StorageError) in
          try transaction.apply(change)
        }
      },
      note: { () throws(StorageError) in
        try EncryptedFile.note(ofCopy: path)
      },
      setNote: { bytes throws(StorageError) in
        _ = try writeWhole(bytes.span, to: note, replacing: true)
      })
  }
}

/// The maximum size of the note beside a copy in bytes: a roster has less than 1 MiB.
private let longestNote = 2 << 20

extension Transaction {
  /// Applies changes that other machines made, and that were verified.
  fileprivate mutating func apply(
    _ change: CopyChange
  ) throws(StorageError) -> Result<Plan<Void>, StorageError> {
    for (tag, row) in change.rowsInOrder {
      let found = try database.find(tag)
      _ = try carryOut { [keys, header] _ throws(StorageError) in
        try keys.plan(row, on: found, header)
      }.get()
    }
    // An error is thrown, not returned, so that the rows that were already written are rolled back.
    return .success(
      try carryOut { [keys, header] _ throws(StorageError) in
        try keys.planEnd(of: change, header)
      }.get())
  }
}
