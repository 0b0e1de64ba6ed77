internal import KistCore

extension UserStorage {
  /// Asks for any one credential: where there is no daemon, or the storage is locked, it throws
  /// what a change would throw, before a person is asked for anything.
  func checkIsOpen() async throws(StorageError) {
    do throws(StorageError) { _ = try await find(CredentialQuery(limit: 1)) } catch {
      throw error.withOutcome(.unchanged)
    }
  }
}
