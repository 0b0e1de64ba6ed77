internal import Glibc
internal import KistCore
internal import KistSodium
internal import KistSystem
internal import KistVault

/// Creates a store where there is none, with the rows and the header that `fill` provides.
///
/// First the key and the names of the directories are written to disk, then the whole store under
/// another name, then its final name. A crash leaves at most a key, which the next start uses.
///
/// - Parameter master: the master key; `nil` for a random one.
/// - Parameter epoch: the epoch; `nil` for a random one.
func createStore(
  _ options: EncryptedFile.Options, id storeID: [UInt8] = randomBytes(StoreFormat.storeIDSize),
  master: GuardedKey? = nil, epoch: Epoch? = nil,
  filledBy fill: (Database, StoreKeys, inout Header) throws(StorageError) -> Void = { _, _, _ in }
) throws(StorageError) {
  try refuseLog(of: options.path)
  try flushNames(of: directory(of: options.path))
  let unfinished = UnfinishedStore(path: options.path + ".new")
  try unfinished.write(
    options, id: storeID, master: master, epoch: epoch, openedBy: [options.keySource],
    filledBy: fill)
  try rename(unfinished.path, to: options.path)
}

/// Refuses to create a store beside a log, which SQLite would use for it.
func refuseLog(of path: String) throws(StorageError) {
  for suffix in ["-wal", "-journal"] where try exists(path + suffix) {
    throw StorageError(
      .corrupt, "the store \(path) is missing, but its log \(path + suffix) is there",
      hint:
        "nothing was changed; put the store back; or move the log away, and restore a backup with "
        + "`kistd restore`")
  }
}

/// A store that is being made, under a name of its own until it is complete.
///
/// Its name is the store's and `.new` (a new store), `.new-ID` (a rekey) or `.backup` (a backup).
struct UnfinishedStore {
  let path: String

  /// The suffixes of the files; the store is last, because leftovers are found by its name.
  private static let suffixes = ["-wal", "-shm", "-journal", ""]

  /// Returns the unfinished stores that an interrupted kistd may have left beside a store.
  static func leftovers(of store: String) -> [UnfinishedStore] {
    ([store + ".new", store + ".backup"] + rekeys(of: store)).map { UnfinishedStore(path: $0) }
  }

  /// Throws where one of the files cannot be kist's own leftover.
  func check() throws(StorageError) {
    for path in Self.suffixes.map({ path + $0 }) {
      guard let status = try existingStatus(ofLink: path) else { continue }
      do throws(StorageError) { try checkAlone(status, "unfinished store", path) } catch {
        var error = error
        error.hint = "move it away: kistd uses this name for its own files; it was not changed"
        throw error
      }
    }
  }

  /// Removes the files, unless one of them cannot be kist's own.
  func discard() throws(StorageError) {
    try check()
    for suffix in Self.suffixes {
      guard unsafe unlink(path + suffix) == 0 || errno == ENOENT else { return }
    }
  }

  /// Creates or empties the file: SQLite would apply the umask, and gives the log the file's mode.
  func begin() throws(StorageError) {
    try check()
    for suffix in Self.suffixes.dropLast() { unsafe unlink(path + suffix) }
    let descriptor = try Descriptor.open(path, O_RDWR | O_CREAT)
    try checkAlone(descriptor.status(path: path), "unfinished store", path)
    try descriptor.setMode(0o600, path: path)
    guard ftruncate(descriptor.number, 0) == 0 else { throw .system("emptying", path: path) }
  }

  /// Renames it to the store.
  ///
  /// A network file system may rename it and still report a failure: if the old name is gone, the
  /// outcome is `unknown`.
  func rename(to store: String) throws(StorageError) {
    guard unsafe Glibc.rename(path, store) != 0 else { return }
    let failure = StorageError.system("renaming", path: path)
    throw failure.withOutcome(unsafe access(path, F_OK) == 0 ? .unchanged : .unknown)
  }

  /// Writes the whole store, with its own master key, and waits until it is on disk.
  func write(
    _ options: EncryptedFile.Options, id storeID: [UInt8], master: GuardedKey? = nil,
    epoch: Epoch? = nil, openedBy sources: [EncryptedFile.KeySource],
    filledBy fill: (Database, StoreKeys, inout Header) throws(StorageError) -> Void
  ) throws(StorageError) {
    let master = if let master { master } else { try GuardedKey.random() }
    let slots = try sources.enumerated().map { index, source throws(StorageError) in
      try KeySlot(
        number: UInt32(index + 1), openedBy: source, wrapping: master, storeID: storeID, options)
    }
    let keys = try StoreKeys(master: master, storeID: storeID)
    var header = Header(
      epoch: epoch?.number ?? .random(in: .min ... .max),
      slots: KeySlot.hash(of: slots, storeID: storeID))
    try begin()
    let database = try Database(path: path, readonly: false, cacheKibibytes: 256)
    try database.transaction("BEGIN IMMEDIATE") { () throws(StorageError) in
      try Schema.create(in: database)
      try fill(database, keys, &header)
      try database.insertStore(id: storeID, header: keys.seal(header, nonce: options.nonces(1)))
      for slot in slots { try database.insertSlot(slot.number, slot.encoded(storeID: storeID)) }
      return true
    }
    // Merges the log, because closing may fail to, and the rename does not move the log.
    guard try database.checkpoint() else {
      throw StorageError(
        .unavailable, "the new store could not be written completely", hint: "try again")
    }
  }
}

extension KeySlot {
  /// Wraps a master key under the key of a source; creates a missing key file.
  init(
    number: UInt32, openedBy source: EncryptedFile.KeySource, wrapping master: GuardedKey,
    storeID: [UInt8], _ options: EncryptedFile.Options
  ) throws(StorageError) {
    let passphrase: Secret?
    switch source {
    case .keyFile(let path):
      let existing = try KeyFile.read(path)
      // Its creator may have been interrupted before the name was on disk.
      if existing != nil { try flushNames(of: path) }
      let key = if let existing { existing } else { try KeyFile.create(path) }
      try self.init(
        number: number, keyFile: key, wrapping: master, storeID: storeID, nonce: options.nonces(1))
      return
    case .passphraseFile(let path): passphrase = try PassphraseFile.read(path)
    case .passphrase(let given): passphrase = given
    case .none: passphrase = nil
    }
    guard let passphrase else {
      throw StorageError(
        .unavailable, "there is no store at \(options.path), and no key to make one with",
        hint: "start kistd with a key file or a passphrase")
    }
    try self.init(
      number: number, passphrase: passphrase, wrapping: master, storeID: storeID, options)
  }

  /// Wraps a master key under a new passphrase, which the options may refuse.
  init(
    number: UInt32, passphrase: Secret, wrapping master: GuardedKey, storeID: [UInt8],
    _ options: EncryptedFile.Options
  ) throws(StorageError) {
    try checkNewPassphrase(passphrase, allowsWeak: options.allowsWeakPassphrase)
    try self.init(
      number: number, passphrase: passphrase, cost: options.passphraseCost, wrapping: master,
      storeID: storeID, nonce: options.nonces(1))
  }
}
