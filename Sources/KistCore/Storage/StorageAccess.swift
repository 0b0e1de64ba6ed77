/// The functions that report the status of a storage, lock it and unlock it.
public struct StorageAccess: Sendable {
  /// Returns the status of the storage, even while it is locked.
  public var status: @Sendable () async throws(StorageError) -> StorageStatus
  /// Forgets the keys.
  ///
  /// Afterwards every request except `status` and `unlock` throws `locked`.
  public var lock: @Sendable () async throws(StorageError) -> StorageStatus
  /// Opens the storage with a passphrase, or without one where it has another key.
  ///
  /// Unlocking an open storage still verifies the passphrase.
  public var unlock: @Sendable (Secret?) async throws(StorageError) -> StorageStatus

  /// Makes a value from the three functions.
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
