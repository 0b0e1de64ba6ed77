internal import KistCore

// These checks report an error before the user is asked for anything.
extension UserStorage {
  /// Checks that kistd runs and the storage is open; throws the same errors as a change.
  ///
  /// It asks for one credential.
  func checkIsOpen() async throws(StorageError) {
    do throws(StorageError) { _ = try await find(CredentialQuery(limit: 1)) } catch {
      throw error.withOutcome(.unchanged)
    }
  }

  /// Throws the error that a save would throw, whatever the secret.
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
