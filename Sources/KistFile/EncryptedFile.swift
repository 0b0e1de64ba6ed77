package import KistCore
package import KistSodium

/// A storage that keeps credentials in an encrypted file; docs/file-format.md specifies the file.
package enum EncryptedFile {
  /// Where the store's key comes from.
  package enum KeySource: Sendable {
    /// A file of exactly 32 bytes, mode 0600 or 0400; made together with a new store.
    case keyFile(path: String)
    /// A file with a passphrase, mode 0600 or 0400; read whenever the store is unlocked.
    case passphraseFile(path: String)
    /// A passphrase; forgotten once the store is open.
    case passphrase(Secret)
    /// Nowhere yet: the store opens locked.
    case none
  }

  /// How a store is opened.
  package struct Options: Sendable {
    /// The database file; its directory is made when it is missing.
    package var path: String
    /// The id of the store that is to be there; where there is `nil`, whichever it is, or a new one.
    package var storeID: String?
    /// Where the key comes from.
    package var keySource: KeySource
    /// The clock.
    package var now: @Sendable () -> Timestamp
    /// How long a change or a search may take, and a request wait for the check of the store's integrity.
    package var deadline: Duration
    /// Waits, for deadlines.
    package var sleep: @Sendable (Duration) async -> Void
    /// How long backups are waited for and kept.
    package var backupPace = BackupPace()
    /// What a passphrase costs that a new store is made with.
    package var passphraseCost: KDFCost
    /// Where nonces come from: so many times 24 bytes that must never repeat.
    package var nonces: @Sendable (Int) -> [UInt8]
    /// Told when there was no store and one was made.
    package var whenMade: @Sendable () -> Void

    /// Makes options.
    package init(
      path: String, storeID: String? = nil, keySource: KeySource,
      now: @escaping @Sendable () -> Timestamp = Timestamp.now,
      deadline: Duration = .seconds(30),
      sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
      passphraseCost: KDFCost = .standard,
      nonces: @escaping @Sendable (Int) -> [UInt8] = { randomBytes($0 * SymmetricKey.nonceSize) },
      whenMade: @escaping @Sendable () -> Void = {}
    ) {
      self.path = path
      self.storeID = storeID
      self.keySource = keySource
      self.now = now
      self.deadline = deadline
      self.sleep = sleep
      self.passphraseCost = passphraseCost
      self.nonces = nonces
      self.whenMade = whenMade
    }
  }

  /// Opens the store, or makes a new one where there is none.
  ///
  /// A store whose key is not at hand opens locked. One that is damaged, of a newer version, in use
  /// by another process, or not to be written is an error, and is left as it is.
  package static func open(_ options: Options) async throws(StorageError) -> OpenStorage {
    let store = try await detached { () throws(StorageError) in try FileStore(opening: options) }
    var storage = OpenStorage(
      credentials: UserStorage(
        save: store.save, load: store.load, delete: store.delete, find: store.find
      ).keepingPromises(now: options.now),
      access: StorageAccess(status: store.status, lock: store.lock, unlock: store.unlock),
      id: hexadecimal(store.storeID), durability: .disk, close: store.close)
    storage.keySlots = KeySlots(
      list: store.keySlots, add: store.addKeySlot, remove: store.removeKeySlot)
    storage.backups = Backups(make: store.backup, read: store.backups.read)
    storage.watch = WatchCredentials(begin: store.beginWatching)
    storage.nameSeal = store.nameSeal
    storage.releaseMemory = store.connections.releaseMemory
    return storage
  }
}
