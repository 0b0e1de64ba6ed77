internal import KistCore

extension OpenStorage {
  /// Returns the same storage with its errors replaced by `map`.
  func mappingErrors(_ map: @escaping @Sendable (StorageError) -> StorageError) -> OpenStorage {
    @Sendable func mapped<Input: Sendable, Output: Sendable>(
      _ request: @escaping @Sendable (Input) async throws(StorageError) -> Output
    ) -> @Sendable (Input) async throws(StorageError) -> Output {
      { input throws(StorageError) in
        do throws(StorageError) { return try await request(input) } catch { throw map(error) }
      }
    }
    let status = mapped { (_: Void) throws(StorageError) in try await access.status() }
    let lock = mapped { (_: Void) throws(StorageError) in try await access.lock() }
    var storage = self
    storage.credentials = UserStorage(
      save: mapped(credentials.save), load: mapped(credentials.load),
      delete: mapped(credentials.delete), find: mapped(credentials.find))
    storage.access = StorageAccess(
      status: { () throws(StorageError) in try await status(()) },
      lock: { () throws(StorageError) in try await lock(()) }, unlock: mapped(access.unlock))
    storage.watch = WatchCredentials(begin: mapped(watch.begin))
    return storage
  }
}
