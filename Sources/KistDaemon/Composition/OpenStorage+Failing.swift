internal import KistCore

extension OpenStorage {
  /// Returns a storage that answers every request with the error that prevented its opening.
  static func failing(_ error: StorageError) -> OpenStorage {
    var storage = OpenStorage(
      credentials: .failing(error),
      access: StorageAccess(
        status: { () throws(StorageError) in throw error },
        lock: { () throws(StorageError) in throw error },
        unlock: { _ throws(StorageError) in throw error }),
      reason: error.message, durability: .unknown, close: {})
    storage.keySlots = .failing(error)
    storage.backups = .failing(error)
    storage.watch = .failing(error)
    return storage
  }
}
