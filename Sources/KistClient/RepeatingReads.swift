internal import KistCore

extension UserStorage {
  /// Returns a storage that repeats a read once when the connection is lost during it.
  ///
  /// The connection itself repeats nothing, because it does not know what a line requests.
  func repeatingReads() -> UserStorage {
    var storage = self
    storage.load = repeating(load)
    storage.find = repeating(find)
    return storage
  }
}

extension StorageAccess {
  /// Returns an access that repeats `status` once when the connection is lost during it.
  func repeatingReads() -> StorageAccess {
    var access = self
    let status = repeating { [status] (_: Void) throws(StorageError) in try await status() }
    access.status = { () throws(StorageError) in try await status(()) }
    return access
  }
}

private func repeating<Input: Sendable, Output: Sendable>(
  _ read: @escaping @Sendable (Input) async throws(StorageError) -> Output
) -> @Sendable (Input) async throws(StorageError) -> Output {
  { input throws(StorageError) in
    do throws(StorageError) {
      do throws(StorageError) {
        return try await read(input)
      } catch {
        guard error.code == .unavailable, error.outcome == .unknown else { throw error }
        return try await read(input)
      }
    } catch {
      // Only a change has an outcome.
      var error = error
      error.outcome = nil
      throw error
    }
  }
}
