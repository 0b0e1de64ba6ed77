internal import KistCore
internal import KistVault

/// An undamaged store that this process has to itself, to read from end to end.
struct WholeStore {
  private let database: Database
  let keys: StoreKeys
  let id: [UInt8]
  let slots: [KeySlot]
  let count: Int

  /// Opens the store; throws `corrupt` where it has any fault, or is older than its progress note.
  init(
    _ path: String, openedBy source: EncryptedFile.KeySource,
    progress: EncryptedFile.ProgressOptions? = nil
  ) throws(StorageError) {
    var inspector = try Inspector(path: path)
    try inspector.unlock(with: source, progress: progress)
    let examination = inspector.examination
    if let fault = examination.faults.first {
      // The message of SQLite does not name the file.
      var error = StorageError.corrupt(
        fault.part == .database ? "\(path) is damaged: \(fault.message)" : fault.message)
      error.hint = fault.hint ?? error.hint
      throw error
    }
    if let locked = examination.locked { throw locked }
    guard let database = inspector.database, let keys = inspector.keys,
      let count = examination.counted
    else { throw .corrupt("nothing in the store can be read") }
    (self.database, self.keys, self.count) = (database, keys, count)
    (id, slots) = (keys.storeID, inspector.slots)
  }

  /// Calls the body with every credential; throws `corrupt` where they do not match the header.
  func eachCredential(
    report: (_ done: Int, _ of: Int) -> Void = { _, _ in },
    _ body: (OpenedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    var done = 0
    try database.eachCredential(keys) { row throws(StorageError) in
      try body(row)
      done += 1
      report(done, count)
    }
  }
}

extension UnfinishedStore {
  /// Writes a copy of a store under a new master key, and reads it back through each key slot.
  func write(
    copyOf original: WholeStore, _ options: EncryptedFile.Options, id: [UInt8],
    openedBy sources: [EncryptedFile.KeySource], report: (_ done: Int, _ of: Int) -> Void
  ) throws(StorageError) {
    precondition(!sources.isEmpty, "nothing would open the copy")
    try write(options, id: id, openedBy: sources) { database, keys, header throws(StorageError) in
      try original.eachCredential(report: report) { row throws(StorageError) in
        try database.copy(row, under: keys, &header, nonces: options.nonces)
      }
    }
    for source in sources {
      guard try WholeStore(path, openedBy: source).count == original.count else { throw .badCopy }
    }
    do throws(StorageError) {
      try WholeStore(path, openedBy: sources[0]).eachCredential { _ in }
    } catch  where error.code == .corrupt { throw .badCopy }
  }
}

extension StorageError {
  fileprivate static let badCopy = StorageError(
    .unavailable, "the new store could not be read back as it was written, so it was removed",
    hint: "check the disk, and try again", outcome: .unchanged)
}

extension Database {
  /// Copies a credential into a new store, under its keys; replaces one with the same name.
  func copy(
    _ row: OpenedRow, under keys: StoreKeys, _ header: inout Header, nonces: (Int) -> [UInt8]
  ) throws(StorageError) {
    header.sequence += 1
    var nonces = Nonces(nonces(2))
    let tag = keys.tag(of: row.metadata.key)
    let found = try find(tag)
    let copy = keys.seal(
      row.metadata, row.secret, row.secretFields,
      as: RowIdentity(tag: tag, sequence: header.sequence), &nonces)
    header.replaceRow(found.row.map(keys.hash(of:)), with: keys.hash(of: copy))
    try put(copy, at: found.address)
  }

  /// Calls the body with every credential, decrypted, as `verifyRows` does with the rows.
  func eachCredential(
    _ keys: StoreKeys, _ body: (OpenedRow) throws(StorageError) -> Void
  ) throws(StorageError) {
    _ = try verifyRows(keys) { identity, metadata, secret throws(StorageError) in
      let metadata = try keys.openMetadata(metadata, as: identity)
      try body(try keys.openRow(secret, of: metadata, as: identity))
      return .more
    }
  }
}
