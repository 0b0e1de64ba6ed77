internal import KistCore

extension OpenStorage {
  /// Locks the storage after `time` without a request for a credential or a backup.
  func lockingWhenIdle(after time: Duration) -> OpenStorage {
    let watch = QuietWatch(after: time) { _ = try? await access.lock() }
    @Sendable func noted<Input: Sendable, Output: Sendable>(
      _ request: @escaping @Sendable (Input) async throws(StorageError) -> Output
    ) -> @Sendable (Input) async throws(StorageError) -> Output {
      { input throws(StorageError) in
        watch.note()
        return try await request(input)
      }
    }
    var storage = self
    storage.credentials = UserStorage(
      save: noted(credentials.save), load: noted(credentials.load),
      delete: noted(credentials.delete), find: noted(credentials.find))
    storage.access.unlock = noted(access.unlock)
    storage.backups.make = noted(backups.make)
    watch.note()
    return storage
  }
}
