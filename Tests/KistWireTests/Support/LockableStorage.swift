import KistCore
import Synchronization

/// A storage in memory that can be locked, with the status of an encrypted file.
final class LockableStorage: Sendable {
  private let isLocked = Mutex(false)
  private let memory: UserStorage
  let watch: WatchCredentials

  init(now: @escaping @Sendable () -> Timestamp) {
    let storage = OpenStorage.inMemory(now: now)
    (memory, watch) = (storage.credentials, storage.watch)
  }

  var credentials: UserStorage {
    UserStorage(
      save: whileOpen(memory.save), load: whileOpen(memory.load), delete: whileOpen(memory.delete),
      find: whileOpen(memory.find))
  }

  var access: StorageAccess { StorageAccess(status: status, lock: lock, unlock: unlock) }

  private func whileOpen<Input: Sendable, Output: Sendable>(
    _ run: @escaping @Sendable (Input) async throws(StorageError) -> Output
  ) -> @Sendable (Input) async throws(StorageError) -> Output {
    { [self] input throws(StorageError) in
      if isLocked.withLock({ $0 }) { throw .locked("the storage is locked") }
      return try await run(input)
    }
  }

  private func status() async throws(StorageError) -> StorageStatus {
    var status = StorageStatus(
      storage: "encrypted-file", isLocked: isLocked.withLock { $0 }, unlocksWith: .passphrase,
      reopensAtRestart: false, durability: .disk,
      keyProtection: "a passphrase, which is not stored", uptime: 3600)
    if !status.isLocked {
      status.keysInRAM = true
      status.integrity = .ok
      status.count = try await memory.findAll().count
    }
    return status
  }

  private func lock() async throws(StorageError) -> StorageStatus {
    isLocked.withLock { $0 = true }
    return try await status()
  }

  private func unlock(_ passphrase: Secret?) async throws(StorageError) -> StorageStatus {
    guard passphrase == Secret(utf8: "correct horse") else { throw .wrongPassphrase }
    isLocked.withLock { $0 = false }
    return try await status()
  }
}
