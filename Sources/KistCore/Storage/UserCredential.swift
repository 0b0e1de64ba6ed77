/// One credential, its key frozen in: what a program that knows its one credential wants to inject.
public struct UserCredential: Sendable {
  /// Saves these bytes, replacing the whole credential.
  public var save: @Sendable (Secret) async throws(StorageError) -> CredentialSummary
  /// Loads the bytes.
  public var load: @Sendable () async throws(StorageError) -> Secret
  /// Deletes it; `false` when there was none.
  public var delete: @Sendable () async throws(StorageError) -> Bool

  /// Makes a credential of three functions.
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
  /// Save, load and delete with the key frozen in.
  public func bound(to key: CredentialKey) -> UserCredential {
    UserCredential(
      save: { secret throws(StorageError) in
        try await save(NewCredential(key: key, secret: secret))
      },
      load: { () throws(StorageError) in try await load(key).secret },
      delete: { () throws(StorageError) in try await delete(key) })
  }
}
