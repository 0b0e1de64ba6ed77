internal import KistCore

extension OpenStorage {
  /// Locks the storage after `time` without a request for a credential or a backup.
  func lockingWhenIdle(after time: Duration) -> OpenStorage {
    let watch = QuietWatch(after: time) { _ = try? await access.lock() }
    var storage = self
    storage.credentials = UserStorage(
      save: { request throws(StorageError) in
        watch.note()
        return try await credentials.save(request)
      },
      load: { request throws(StorageError) in
        watch.note()
        return try await credentials.load(request)
      },
      delete: { request throws(StorageError) in
        watch.note()
        return try await credentials.delete(request)
      },
      find: { query throws(StorageError) in
        watch.note()
        return try await credentials.find(query)
      })
    storage.access.unlock = { passphrase throws(StorageError) in
      watch.note()
      return try await access.unlock(passphrase)
    }
    storage.backups.make = { request throws(StorageError) in
      watch.note()
      return try await backups.make(request)
    }
    watch.note()
    return storage
  }
}
