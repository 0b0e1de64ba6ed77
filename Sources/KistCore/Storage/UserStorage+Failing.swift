extension UserStorage {
  /// Returns a storage whose functions all throw this error, for a storage that cannot be reached.
  package static func failing(_ error: StorageError) -> UserStorage {
    let unchanged = error.withOutcome(.unchanged)
    return UserStorage(
      save: { _ throws(StorageError) in throw unchanged },
      load: { _ throws(StorageError) in throw error },
      delete: { _ throws(StorageError) in throw unchanged },
      find: { _ throws(StorageError) in throw error })
  }
}
