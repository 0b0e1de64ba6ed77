internal import Dispatch
package import KistCore
package import KistSodium
internal import KistVault

/// The storage in an encrypted file; docs/file-format.md specifies the file.
package enum EncryptedFile {
  /// The source of the store's key.
  package enum KeySource: Sendable {
    /// A file of exactly 32 bytes, mode 0600 or 0400; created together with a new store.
    case keyFile(path: String)
    /// A file with a passphrase, mode 0600 or 0400; read at each unlock.
    case passphraseFile(path: String)
    /// A passphrase, forgotten once the store is open.
    case passphrase(Secret)
    /// No source: the store opens locked.
    case none
  }

  /// The options to open a store.
  package struct Options: Sendable {
    /// The path of the database file; a missing directory is created.
    package var path: String
    /// The id of the expected store; `nil` accepts any store or creates one.
    package var storeID: String?
    package var keySource: KeySource
    package var now: @Sendable () -> Timestamp
    /// The time limit of a change or a search, and of waiting for the integrity check.
    package var deadline: Duration
    /// Waits, for deadlines.
    package var sleep: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    /// The only place where passphrases are tried.
    package var attempts: PassphraseAttempts
    /// The times for which backups are waited for and kept.
    package var backupPace = BackupPace()
    /// Whether a new passphrase may have fewer than 8 bytes.
    package var allowsWeakPassphrase = false
    /// The cost of the passphrase of a new store.
    package var passphraseCost: KDFCost
    /// Returns this many nonces of 24 bytes, which must never repeat.
    package var nonces: @Sendable (Int) -> [UInt8] = { randomBytes($0 * SymmetricKey.nonceSize) }
    /// The options of the progress note; `nil` for none.
    package var progress: ProgressOptions?
    /// Called when there was no store and one was created.
    package var whenMade: @Sendable () -> Void = {}
    /// Called when the store was closed and changes in its log may be lost, with the reason.
    package var whenLogKept: @Sendable (StorageError) -> Void = { _ in }

    package init(
      path: String, storeID: String? = nil, keySource: KeySource,
      now: @escaping @Sendable () -> Timestamp = Timestamp.now, deadline: Duration = .seconds(30),
      attempts: PassphraseAttempts = PassphraseAttempts(), passphraseCost: KDFCost = .standard,
      progress: ProgressOptions? = nil
    ) {
      (self.path, self.storeID, self.keySource) = (path, storeID, keySource)
      (self.now, self.deadline, self.attempts) = (now, deadline, attempts)
      (self.passphraseCost, self.progress) = (passphraseCost, progress)
    }
  }

  /// The options to detect an older copy of the store in place of the newest one.
  package struct ProgressOptions: Sendable {
    /// The directory of the progress note.
    package var directory: String
    /// The maximum time until a change is noted.
    package var delay: Duration
    /// Returns whether to open a store that is older than its note; called at each unlock.
    package var acceptsRollback: @Sendable () -> Bool
    /// Called with the reason why the note cannot be read or written; the store is used without it.
    package var report: @Sendable (StorageError) -> Void
    /// Called with the reason why an accepted store would have been refused.
    package var reportAccepted: @Sendable (StorageError) -> Void

    package init(
      directory: String, delay: Duration = .seconds(1),
      acceptsRollback: @escaping @Sendable () -> Bool = { false },
      report: @escaping @Sendable (StorageError) -> Void = { _ in },
      reportAccepted: @escaping @Sendable (StorageError) -> Void = { _ in }
    ) {
      (self.directory, self.delay) = (directory, delay)
      (self.acceptsRollback, self.report) = (acceptsRollback, report)
      self.reportAccepted = reportAccepted
    }
  }

  /// Opens the store, or creates one where there is none.
  ///
  /// Without its key it opens locked. Throws where it is damaged, of a newer version, in use or not
  /// writable, and does not change it.
  package static func open(_ options: Options) async throws(StorageError) -> OpenStorage {
    try await openStore(options).storage
  }

  /// Opens the store, and returns it with its functions.
  static func openStore(
    _ options: Options
  ) async throws(StorageError) -> (store: FileStore, storage: OpenStorage) {
    let store = try await DispatchQueue(label: "kist.opening").run { () throws(StorageError) in
      try FileStore(opening: options)
    }
    var storage = OpenStorage(
      credentials: UserStorage(
        save: store.save, load: store.load, delete: store.delete, find: store.find
      ).enforcingLimits(now: options.now),
      access: StorageAccess(status: store.status, lock: store.lock, unlock: store.unlock),
      id: hexadecimal(store.storeID), durability: .disk, close: store.close)
    storage.keySlots = KeySlots(
      list: store.keySlots, add: store.addKeySlot, remove: store.removeKeySlot)
    storage.backups = Backups(make: store.backup, read: store.backups.read)
    storage.watch = WatchCredentials(begin: store.beginWatching)
    storage.nameSeal = store.nameSeal
    storage.releaseMemory = store.connections.releaseMemory
    return (store, storage)
  }

  /// Makes a key file open a store that a passphrase opens; returns the number of its key slot.
  ///
  /// Creates the key file if it is missing. Throws `busy` where the store is in use.
  package static func addKeyFile(
    _ path: String, to options: Options
  ) async throws(StorageError) -> Int {
    try requireStore(at: options.path)
    let store = try FileStore(opening: options, orRefuseWith: .busy)
    let result: Result<Int, StorageError>
    do throws(StorageError) {
      result = .success(try await store.addKeyFile(path, with: options.keySource))
    } catch { result = .failure(error.withOutcome(.unchanged)) }
    await store.close()
    return try result.get()
  }
}
