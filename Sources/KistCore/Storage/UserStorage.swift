/// The storage of a user's credentials, as four functions.
///
/// A value of this type is an implementation: `.inMemory()`, an opened encrypted file, or a
/// connection to kistd. To replace one in a test, set the closures that the test needs.
///
/// Every storage that this package opens follows the rules below. The contract in KistTesting
/// checks them.
public struct UserStorage: Sendable {
  /// Saves a whole credential under a new revision, replacing the one with the same key.
  ///
  /// A field that the request omits is absent afterwards, unless its `keep` names the field;
  /// `createdAt` does not change. After `save` returns, every later load sees the new credential. The
  /// durability of the storage says what the change survives.
  public var save: @Sendable (SaveRequest) async throws(StorageError) -> CredentialSummary

  /// Loads a credential with its secret.
  ///
  /// Throws `notFound` only when the storage is open and certain, and `expired` for an expired
  /// credential.
  public var load: @Sendable (LoadRequest) async throws(StorageError) -> Credential

  /// Deletes a credential and returns whether it existed.
  ///
  /// With a condition on the revision, an absent credential throws `conflict`.
  public var delete: @Sendable (DeleteRequest) async throws(StorageError) -> Bool

  /// Lists credentials without their secrets, page by page, in no particular order.
  public var find: @Sendable (CredentialQuery) async throws(StorageError) -> CredentialPage

  /// Makes a storage from the four functions.
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
