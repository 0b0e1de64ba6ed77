internal import KistCore

// What would be refused is refused before a person is asked for anything.
extension UserStorage {
  /// Asks for any one credential: where there is no daemon, or the storage is locked, it throws
  /// what a change would throw.
  func checkIsOpen() async throws(StorageError) {
    do throws(StorageError) { _ = try await find(CredentialQuery(limit: 1)) } catch {
      throw error.withOutcome(.unchanged)
    }
  }

  /// Throws what a save would throw, whatever the secret.
  func checkTakes(
    _ credential: NewCredential, if condition: Condition
  ) async throws(StorageError) {
    try credential.checkNames()
    if condition == .always { return }
    let key = credential.key
    let page = try await find(CredentialQuery(service: key.service, account: key.account))
    try condition.check(against: page.credentials.first { $0.key == key }?.revision)
  }
}
