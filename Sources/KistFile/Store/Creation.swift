internal import Glibc
internal import KistCore
internal import KistSodium
internal import KistSystem

/// Makes a new store where there is none, with what `fill` puts into it and into its header.
///
/// First the key is on disk, with the names of the directories, then the whole store under another name,
/// then its own name. So what a crash leaves is at most a key without a store, which the next start uses.
func createStore(
  _ options: EncryptedFile.Options, id storeID: [UInt8] = randomBytes(StoreFormat.storeIDSize),
  filledBy fill: (Database, StoreKeys, inout Header) throws(StorageError) -> Void = { _, _, _ in }
) throws(StorageError) {
  try refuseLog(of: options.path)
  try flushNames(of: directory(of: options.path))
  let unfinished = UnfinishedStore.new(beside: options.path)
  try unfinished.write(options, id: storeID, openedBy: [options.keySource], filledBy: fill)
  try rename(unfinished.path, to: options.path)
}

/// Refuses to make a store beside a log, which would be taken for its own.
func refuseLog(of path: String) throws(StorageError) {
  for suffix in ["-wal", "-journal"] {
    if try exists(path + suffix) {
      throw .corrupt("the store \(path) is missing, but its log is there")
    }
  }
}

/// A store that is being made, under a name of its own, for as long as it is not whole.
struct UnfinishedStore {
  let path: String

  /// One that is to take the place of the store.
  static func new(beside path: String) -> UnfinishedStore { UnfinishedStore(path: path + ".new") }

  /// One that is to be fetched as a backup.
  static func backup(beside path: String) -> UnfinishedStore {
    UnfinishedStore(path: path + ".backup")
  }

  /// Removes what was left of those that were cut off, which nobody else may be at work on.
  static func discardAll(beside path: String) {
    for left in [new(beside: path), backup(beside: path)]
    where unsafe access(left.path, F_OK) == 0 { left.discard() }
  }

  /// Removes what was left of one that was cut off, itself last.
  func discard() {
    for suffix in ["-wal", "-shm", "-journal", ""] { unsafe unlink(path + suffix) }
  }

  /// Gives it the name of the store.
  ///
  /// A file system over a network may do so and say that it failed: where it is not under its own name
  /// any more, the outcome is `unknown`.
  func rename(to store: String) throws(StorageError) {
    guard unsafe Glibc.rename(path, store) != 0 else { return }
    let failure = StorageError.system("renaming", path: path)
    throw failure.withOutcome(unsafe access(path, F_OK) == 0 ? .unchanged : .unknown)
  }

  /// Writes all of it, with a master key of its own, and waits until it is on disk.
  func write(
    _ options: EncryptedFile.Options, id storeID: [UInt8],
    openedBy sources: [EncryptedFile.KeySource],
    filledBy fill: (Database, StoreKeys, inout Header) throws(StorageError) -> Void
  ) throws(StorageError) {
    let master = try GuardedKey.random()
    var slots: [KeySlot] = []
    for source in sources {
      slots.append(
        try KeySlot(
          number: UInt32(slots.count + 1), openedBy: source, wrapping: master, storeID: storeID,
          options))
    }
    let keys = try StoreKeys(master: master, storeID: storeID)
    var header = Header(
      sequence: 0, count: 0, epoch: .random(in: .min ... .max), sum: .zero,
      slots: KeySlot.hash(of: slots, storeID: storeID))
    discard()
    // Made here, not by SQLite, so that its mode does not hang on the umask; its log takes it over.
    try Descriptor.open(path, O_RDWR | O_CREAT | O_EXCL).setMode(0o600, path: path)
    let connection = Connection(path: path, readonly: false, cacheKibibytes: 256)
    defer { connection.close() }
    try connection.open()
    try connection.use { database throws(StorageError) in
      try database.transaction("BEGIN IMMEDIATE") { () throws(StorageError) in
        try Schema.create(in: database)
        try fill(database, keys, &header)
        try database.insertStore(id: storeID, header: keys.seal(header, nonce: options.nonces(1)))
        for slot in slots { try database.insertSlot(slot.number, slot.encoded(storeID: storeID)) }
        return true
      }
      // What closing could not bring from the log into the file would be left behind by its new name.
      guard try database.checkpoint() else {
        throw StorageError(
          .unavailable, "the new store could not be written to its end", hint: "try again")
      }
    }
  }
}

extension KeySlot {
  /// Wraps a master key under one that comes from somewhere; a key file is made where there is none.
  fileprivate init(
    number: UInt32, openedBy source: EncryptedFile.KeySource, wrapping master: GuardedKey,
    storeID: [UInt8], _ options: EncryptedFile.Options
  ) throws(StorageError) {
    switch source {
    case .none: throw .noKey(for: options.path)
    case .keyFile(let path):
      let file: GuardedKey
      if let existing = try KeyFile.read(path) {
        file = existing
        // Whoever made it may have been cut off before its name was on disk.
        try flushNames(of: path)
      } else {
        file = try KeyFile.create(path)
      }
      self.init(
        number: number, kind: .keyFile, wrapping: master, under: try wrappingKey(from: file),
        storeID: storeID, nonce: options.nonces(1))
    case .passphraseFile(let path):
      guard let passphrase = try PassphraseFile.read(path) else { throw .noKey(for: options.path) }
      try self.init(
        number: number, passphrase: passphrase, wrapping: master, storeID: storeID, options)
    case .passphrase(let passphrase):
      try self.init(
        number: number, passphrase: passphrase, wrapping: master, storeID: storeID, options)
    }
  }
}

extension StorageError {
  fileprivate static func noKey(for store: String) -> StorageError {
    StorageError(
      .unavailable, "there is no store at \(store), and no key to make one with",
      hint: "start kistd with a key file or a passphrase")
  }
}
