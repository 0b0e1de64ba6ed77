public import KistCore
private import Testing

extension UserStorage {
  /// A storage whose closures all fail the test and report their name.
  ///
  /// Replace the closures that the code under test should use.
  public static var unimplemented: UserStorage {
    UserStorage(
      save: { _ throws(StorageError) in throw called("UserStorage.save") },
      load: { _ throws(StorageError) in throw called("UserStorage.load") },
      delete: { _ throws(StorageError) in throw called("UserStorage.delete") },
      find: { _ throws(StorageError) in throw called("UserStorage.find") })
  }
}

extension StorageAccess {
  /// An access whose closures all fail the test and report their name.
  public static var unimplemented: StorageAccess {
    StorageAccess(
      status: { () throws(StorageError) in throw called("StorageAccess.status") },
      lock: { () throws(StorageError) in throw called("StorageAccess.lock") },
      unlock: { _ throws(StorageError) in throw called("StorageAccess.unlock") })
  }
}

extension WatchCredentials {
  /// A watch whose `begin` fails the test and reports its name.
  public static var unimplemented: WatchCredentials {
    WatchCredentials { _ throws(StorageError) in throw called("WatchCredentials.begin") }
  }
}

extension KeySlots {
  /// Key slots whose closures all fail the test and report their name.
  public static var unimplemented: KeySlots {
    KeySlots(
      list: { () throws(StorageError) in throw called("KeySlots.list") },
      add: { _ throws(StorageError) in throw called("KeySlots.add") },
      remove: { _ throws(StorageError) in throw called("KeySlots.remove") })
  }
}

extension Backups {
  /// Backups whose closures all fail the test and report their name.
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
