/// An open storage: its functions, and how to close it.
public struct OpenStorage: Sendable {
  /// The credentials in the storage.
  public var credentials: UserStorage
  /// The functions that lock, unlock and describe the storage.
  public var access: StorageAccess
  /// The key slots, where the storage has its own key.
  public var keySlots = KeySlots.none
  /// The backups, where the storage can make them.
  public var backups = Backups.none
  /// The changes of credentials in the storage.
  public var watch = WatchCredentials.none
  /// The identifier of this storage, where several of its kind can exist.
  public var id: String?
  /// The reason why this storage was chosen among several.
  public var reason: String?
  /// The functions that seal the names in requests, where the storage has a key for this.
  package var nameSeal: NameSeal?
  /// Releases memory that is kept for future requests, for example after an idle time.
  package var releaseMemory: @Sendable () -> Void = {}
  /// The durability of an answered change; known even where the storage cannot be reached yet.
  public var durability: StorageStatus.Durability
  /// Finishes the running operations, wipes the keys and closes the files.
  ///
  /// Every later request throws `unavailable`. Closing a second time does nothing.
  public var close: @Sendable () async -> Void

  /// Makes an open storage from its parts.
  public init(
    credentials: UserStorage, access: StorageAccess, id: String? = nil,
    reason: String? = nil, durability: StorageStatus.Durability,
    close: @escaping @Sendable () async -> Void
  ) {
    self.credentials = credentials
    self.access = access
    self.id = id
    self.reason = reason
    self.durability = durability
    self.close = close
  }
}
