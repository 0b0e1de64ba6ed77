internal import KistCore

extension OpenStorage {
  /// A storage that could not be opened: every request is answered with why.
  static func failing(_ error: StorageError) -> OpenStorage {
    @Sendable func fail<Input, Output>(_ input: Input) throws(StorageError) -> Output {
      throw error
    }
    let unchanged = error.withOutcome(.unchanged)
    @Sendable func refuse<Input, Output>(_ input: Input) throws(StorageError) -> Output {
      throw unchanged
    }
    return OpenStorage(
      credentials: UserStorage(save: refuse, load: fail, delete: refuse, find: fail),
      access: StorageAccess(
        status: { () throws(StorageError) in throw error },
        lock: { () throws(StorageError) in throw error }, unlock: fail),
      reason: error.message, durability: .unknown, close: {})
  }
}
