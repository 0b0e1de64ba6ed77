internal import KistCore

/// An undamaged store that this process has to itself, to read from end to end.
struct WholeStore {
  private let database: Database
  let keys: StoreKeys
  let id: [UInt8]
  /// The key slots.
  let slots: [KeySlot]
  /// The number of credentials.
  let count: Int

  /// Opens the store.
  ///
  /// Throws the reason where the key is not available, and `corrupt` where the store has any fault.
  ///
  /// - Parameter progress: the options of the progress note; a store older than its note is
  ///   `corrupt`.
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
      if let hint = fault.hint { error.hint = hint }
      throw error
    }
    if let locked = examination.locked { throw locked }
    guard let database = inspector.database, let keys = inspector.keys,
      let count = examination.counted
    else { throw .corrupt("nothing in the store can be read") }
    (self.database, self.keys, self.count) = (database, keys, count)
    id = keys.storeID
    slots = inspector.slots
  }

  /// Calls the body with every credential.
  ///
  /// Throws `corrupt` where one fails authentication, or where they do not match the header.
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
