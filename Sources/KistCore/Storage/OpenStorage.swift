/// What opening a storage gives: the faces of one owner, and the end of its life.
public struct OpenStorage: Sendable {
  /// The credentials in it.
  public var credentials: UserStorage
  /// The way in to it.
  public var access: StorageAccess
  /// What its key is wrapped under, where it has one of its own.
  public var keySlots = KeySlots.none
  /// Copies of it, where it can be asked for them.
  public var backups = Backups.none
  /// Who changes what in it.
  public var watch = WatchCredentials.none
  /// What tells this storage from others of its kind, where there can be several.
  public var id: String?
  /// Why it is this one, where it was chosen among others.
  public var reason: String?
  /// Seals what requests name, where the storage has a key for that.
  package var nameSeal: NameSeal?
  /// Gives back memory that is kept for requests to come, as when none has come for a while.
  package var releaseMemory: @Sendable () -> Void = {}
  /// What an answered change survives; known also where the storage cannot be reached yet.
  public var durability: StorageStatus.Durability
  /// Finishes what was begun, wipes the keys and lets go of the files.
  ///
  /// Every request after that is `unavailable`. Closing twice is closing once.
  public var close: @Sendable () async -> Void

  /// Puts the faces together.
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
