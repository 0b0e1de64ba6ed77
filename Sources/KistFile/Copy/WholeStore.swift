internal import KistCore

/// A store that is read from end to end by somebody who has it to himself, and must be whole.
struct WholeStore {
  private let database: Database
  private let keys: StoreKeys
  let id: [UInt8]
  /// The ways to open it.
  let slots: [KeySlot]
  /// How many credentials it has.
  let count: Int

  /// Opens it; throws why the key is not to be had, and `corrupt` where anything is wrong with it.
  init(_ path: String, openedBy source: EncryptedFile.KeySource) throws(StorageError) {
    var inspector = try Inspector(path: path)
    try inspector.unlock(with: source)
    let examination = inspector.examination
    if let fault = examination.faults.first {
      // SQLite does not say of what it speaks.
      throw .corrupt(
        fault.part == .database ? "\(path) is damaged: \(fault.message)" : fault.message)
    }
    if let locked = examination.locked { throw locked }
    guard let database = inspector.database, let keys = inspector.keys,
      let count = examination.counted
    else { throw .corrupt("nothing in the store can be read") }
    (self.database, self.keys, self.count) = (database, keys, count)
    id = keys.storeID
    slots = inspector.slots
  }

  /// Lends every credential, and throws `corrupt` where one fails authentication, or they are not
  /// those that there should be.
  func eachCredential(
    report: (_ done: Int, _ of: Int) -> Void,
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
  /// Writes a copy of a store under a new master key, and reads it back through each way in to it.
  func write(
    copyOf original: WholeStore, _ options: EncryptedFile.Options, id: [UInt8],
    openedBy sources: [EncryptedFile.KeySource], report: (_ done: Int, _ of: Int) -> Void
  ) throws(StorageError) {
    precondition(!sources.isEmpty, "nothing would open the copy")
    try write(options, id: id, openedBy: sources) { database, keys, header throws(StorageError) in
      var copies = Copies(database: database, keys: keys, nonces: { options.nonces(1) })
      try original.eachCredential(report: report) { row throws(StorageError) in
        try copies.put(row)
      }
      _ = try copies.finish(&header)
    }
    for source in sources {
      guard try WholeStore(path, openedBy: source).count == original.count else { throw .badCopy }
    }
    do throws(StorageError) {
      try WholeStore(path, openedBy: sources[0]).eachCredential(report: { _, _ in }) { _ in }
    } catch {
      guard error.code == .corrupt else { throw error }
      throw .badCopy
    }
  }
}

extension StorageError {
  fileprivate static var badCopy: StorageError {
    StorageError(
      .unavailable, "the new store could not be read back as it was written, and was discarded",
      hint: "look at the disk, and try again", outcome: .unchanged)
  }
}
