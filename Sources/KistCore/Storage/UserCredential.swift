/// The functions for one credential with a fixed key.
///
/// A program that uses a single credential can inject this value.
public struct UserCredential: Sendable {
  /// Saves these bytes, replacing the whole credential.
  public var save: @Sendable (Secret) async throws(StorageError) -> CredentialSummary
  /// Loads the bytes.
  public var load: @Sendable () async throws(StorageError) -> Secret
  /// Deletes the credential and returns whether it existed.
  public var delete: @Sendable () async throws(StorageError) -> Bool

  /// Makes a value from the three functions.
  public init(
    save: @escaping @Sendable (Secret) async throws(StorageError) -> CredentialSummary,
    load: @escaping @Sendable () async throws(StorageError) -> Secret,
    delete: @escaping @Sendable () async throws(StorageError) -> Bool
  ) {
    self.save = save
    self.load = load
    self.delete = delete
  }
}

extension UserStorage {
  /// Returns the functions for the credential of this key.
  public func bound(to key: CredentialKey) -> UserCredential {
    UserCredential(
      save: { secret throws(StorageError) in
        try await save(NewCredential(key: key, secret: secret))
      },
      load: { () throws(StorageError) in try await load(key).secret },
      delete: { () throws(StorageError) in try await delete(key) })
  }
}
