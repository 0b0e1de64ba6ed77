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

  /// Returns the numbers of the rows in a copy.
  func numbers() throws(StorageError) -> RowNumbers { try RowNumbers(database) }

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
    let numbers = try original.numbers()
    try write(options, id: id, openedBy: sources) { database, keys, header throws(StorageError) in
      try original.eachCredential(report: report) { row throws(StorageError) in
        try database.copy(
          row, as: numbers.number(of: row), under: keys, &header, nonces: options.nonces)
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

/// New numbers from 1 for the rows of a store, in the order of their sequences.
///
/// Of credentials that were saved in the same second, the newest stays the newest.
struct RowNumbers {
  private let sequences: [UInt64]

  init(_ database: Database) throws(StorageError) {
    sequences = try database.rows("SELECT sequence FROM credential") {
      UInt64(bitPattern: $0.integer(0))
    }.sorted()
  }

  /// Returns the number of a row of the store.
  func number(of row: OpenedRow) -> UInt64 {
    var (low, high) = (0, sequences.count)
    while low < high {
      let middle = (low + high) / 2
      if sequences[middle] < row.sequence { low = middle + 1 } else { high = middle }
    }
    return UInt64(low + 1)
  }
}

extension Database {
  /// Copies a credential into a new store, under its keys; replaces one with the same name.
  ///
  /// - Parameter sequence: a number that no other row has.
  func copy(
    _ row: OpenedRow, as sequence: UInt64, under keys: StoreKeys, _ header: inout Header,
    nonces: (Int) -> [UInt8]
  ) throws(StorageError) {
    header.sequence = max(header.sequence, sequence)
    var nonces = Nonces(nonces(2))
    let tag = keys.tag(of: row.metadata.key)
    let found = try find(tag)
    let copy = keys.seal(
      row.metadata, row.secret, row.secretFields,
      as: RowIdentity(tag: tag, sequence: sequence), &nonces)
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
