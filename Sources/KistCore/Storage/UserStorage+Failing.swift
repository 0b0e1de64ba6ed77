extension UserStorage {
  /// A storage that cannot be reached: every request is answered with why.
  package static func failing(_ error: StorageError) -> UserStorage {
    let unchanged = error.withOutcome(.unchanged)
    return UserStorage(
      save: { _ throws(StorageError) in throw unchanged },
      load: { _ throws(StorageError) in throw error },
      delete: { _ throws(StorageError) in throw unchanged },
      find: { _ throws(StorageError) in throw error })
  }
}
