package import KistCore

extension UserStorage {
  /// Returns the storage that is served at the other end of an exchange.
  package static func remote(over exchange: @escaping Exchange) -> UserStorage {
    let load = Operation.load.called(over: exchange)
    return UserStorage(
      save: Operation.save.called(over: exchange),
      load: { request throws(StorageError) in try await load(Encoded(request)).value },
      delete: Operation.delete.called(over: exchange),
      find: Operation.find.called(over: exchange))
  }
}

extension StorageAccess {
  /// Returns the access (status, lock, unlock) to the storage at the other end of an exchange.
  package static func remote(over exchange: @escaping Exchange) -> StorageAccess {
    let status = Operation.status.called(over: exchange)
    let lock = Operation.lock.called(over: exchange)
    return StorageAccess(
      status: { () throws(StorageError) in try await status(()) },
      lock: { () throws(StorageError) in try await lock(()) },
      unlock: Operation.unlock.called(over: exchange))
  }
}

extension KeySlots {
  /// Returns the key slots of the storage at the other end of an exchange.
  package static func remote(over exchange: @escaping Exchange) -> KeySlots {
    let list = Operation.slots.called(over: exchange)
    return KeySlots(
      list: { () throws(StorageError) in try await list(()) },
      add: Operation.slotAdd.called(over: exchange),
      remove: Operation.slotRemove.called(over: exchange))
  }
}

extension Backups {
  /// Returns the backups of the storage at the other end of an exchange.
  package static func remote(over exchange: @escaping Exchange) -> Backups {
    Backups(
      make: Operation.backup.called(over: exchange),
      read: Operation.backupPart.called(over: exchange))
  }
}
