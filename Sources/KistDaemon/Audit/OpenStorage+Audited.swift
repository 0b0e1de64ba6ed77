internal import KistCore

extension OpenStorage {
  /// The same storage, whose key seals the names in the audit log, as long as it has the key.
  ///
  /// What waits is written before it is locked or closed.
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
