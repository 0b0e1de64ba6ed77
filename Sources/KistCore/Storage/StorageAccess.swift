/// The way in to a storage: how it stands, locking it, unlocking it.
public struct StorageAccess: Sendable {
  /// Tells how the storage stands; answers also while it is locked.
  public var status: @Sendable () async throws(StorageError) -> StorageStatus
  /// Forgets the keys; everything but `status` and `unlock` is `locked` from then on.
  public var lock: @Sendable () async throws(StorageError) -> StorageStatus
  /// Opens the storage with a passphrase, or without one where it has another key.
  ///
  /// Unlocking what is open still verifies the passphrase.
  public var unlock: @Sendable (Secret?) async throws(StorageError) -> StorageStatus

  /// Makes the three functions one value.
  public init(
    status: @escaping @Sendable () async throws(StorageError) -> StorageStatus,
    lock: @escaping @Sendable () async throws(StorageError) -> StorageStatus,
    unlock: @escaping @Sendable (Secret?) async throws(StorageError) -> StorageStatus
  ) {
    self.status = status
    self.lock = lock
    self.unlock = unlock
  }
}
