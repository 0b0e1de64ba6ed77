/// The storage of a user's credentials: four functions.
///
/// A value of this type is an implementation: `.inMemory()`, an opened encrypted file, a
/// connection to kistd. To stand in for one, set the closures that are needed. Every storage that
/// this package opens keeps the promises below; the contract in KistTesting checks them.
public struct UserStorage: Sendable {
  /// Saves a whole credential, replacing the one of the same key, under a new revision.
  ///
  /// What the request leaves out is absent afterwards; `createdAt` stays. Once it returns, every
  /// later load sees the new credential, and the storage's durability says what it survives.
  public var save: @Sendable (SaveRequest) async throws(StorageError) -> CredentialSummary

  /// Loads a credential with its secret.
  ///
  /// Throws `notFound` only when the storage was open and sure, `expired` for one past its time.
  public var load: @Sendable (LoadRequest) async throws(StorageError) -> Credential

  /// Deletes a credential; `false` when there was none.
  ///
  /// With a condition on the revision, one that is absent is a `conflict`.
  public var delete: @Sendable (DeleteRequest) async throws(StorageError) -> Bool

  /// Lists credentials without their secrets, a page at a time, in no particular order.
  public var find: @Sendable (CredentialQuery) async throws(StorageError) -> CredentialPage

  /// Makes a storage of four functions.
  public init(
    save: @escaping @Sendable (SaveRequest) async throws(StorageError) -> CredentialSummary,
    load: @escaping @Sendable (LoadRequest) async throws(StorageError) -> Credential,
    delete: @escaping @Sendable (DeleteRequest) async throws(StorageError) -> Bool,
    find: @escaping @Sendable (CredentialQuery) async throws(StorageError) -> CredentialPage
  ) {
    self.save = save
    self.load = load
    self.delete = delete
    self.find = find
  }
}
