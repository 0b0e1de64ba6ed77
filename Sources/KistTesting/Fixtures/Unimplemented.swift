public import KistCore
private import Testing

extension UserStorage {
  /// A storage of which nothing may be used: whatever is called fails the test by its name.
  ///
  /// Replace the closures that the code under test is meant to use.
  public static var unimplemented: UserStorage {
    UserStorage(
      save: { _ throws(StorageError) in throw called("UserStorage.save") },
      load: { _ throws(StorageError) in throw called("UserStorage.load") },
      delete: { _ throws(StorageError) in throw called("UserStorage.delete") },
      find: { _ throws(StorageError) in throw called("UserStorage.find") })
  }
}

extension StorageAccess {
  /// An access of which nothing may be used: whatever is called fails the test by its name.
  public static var unimplemented: StorageAccess {
    StorageAccess(
      status: { () throws(StorageError) in throw called("StorageAccess.status") },
      lock: { () throws(StorageError) in throw called("StorageAccess.lock") },
      unlock: { _ throws(StorageError) in throw called("StorageAccess.unlock") })
  }
}

extension WatchCredentials {
  /// A watch that may not be begun: it fails the test by its name.
  public static var unimplemented: WatchCredentials {
    WatchCredentials { _ throws(StorageError) in throw called("WatchCredentials.begin") }
  }
}

extension KeySlots {
  /// Key slots of which nothing may be used: whatever is called fails the test by its name.
  public static var unimplemented: KeySlots {
    KeySlots(
      list: { () throws(StorageError) in throw called("KeySlots.list") },
      add: { _ throws(StorageError) in throw called("KeySlots.add") },
      remove: { _ throws(StorageError) in throw called("KeySlots.remove") })
  }
}

extension Backups {
  /// Backups of which nothing may be used: whatever is called fails the test by its name.
  public static var unimplemented: Backups {
    Backups(
      make: { _ throws(StorageError) in throw called("Backups.make") },
      read: { _ throws(StorageError) in throw called("Backups.read") })
  }
}

private func called(_ endpoint: String) -> StorageError {
  Issue.record("\(endpoint) was called, and the test does not implement it")
  return .internal("\(endpoint) is not implemented")
}
