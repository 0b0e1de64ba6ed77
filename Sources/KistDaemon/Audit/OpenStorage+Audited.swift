internal import KistCore

extension OpenStorage {
  /// Returns the same storage; its key seals names in the audit log while the storage has the key.
  ///
  /// Waiting requests are written before the storage is locked or closed.
  func audited(by log: AuditLog?) async -> OpenStorage {
    guard let log else { return self }
    await log.seal(with: nameSeal)
    var storage = self
    storage.access.lock = { [lock = access.lock] () throws(StorageError) in
      await log.flush()
      return try await lock()
    }
    storage.close = { [close] in
      await log.seal(with: nil)
      await close()
    }
    return storage
  }
}
