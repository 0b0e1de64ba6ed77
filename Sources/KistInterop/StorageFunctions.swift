internal import KistCore

// The functions of a storage; a helper takes those that it needs.
typealias Save = @Sendable (SaveRequest) async throws(StorageError) -> CredentialSummary
typealias Load = @Sendable (LoadRequest) async throws(StorageError) -> Credential
typealias Delete = @Sendable (DeleteRequest) async throws(StorageError) -> Bool
typealias Find = @Sendable (CredentialQuery) async throws(StorageError) -> CredentialPage

/// The credential of a key, expired or not; `nil` where there is none.
func stored(_ key: CredentialKey, _ load: Load) async throws(StorageError) -> Credential? {
  do throws(StorageError) {
    return try await load(LoadRequest(key: key, allowExpired: true))
  } catch {
    guard error.code == .notFound else { throw error }
    return nil
  }
}

/// Saves a credential for a tool; throws `conflict` where another tool has one of that key, which it
/// would be missing.
func save(_ new: NewCredential, load: Load, save: Save) async throws(StorageError) {
  let old = try await stored(new.key, load)?.summary
  guard old.map({ $0.isSavedByHand || $0.tool == new.attributes[Attributes.toolName] }) ?? true
  else {
    throw StorageError(
      .conflict, "another tool keeps a credential under this name; nothing was changed",
      hint: "see it with `kist list --json`", outcome: .unchanged)
  }
  _ = try await save(SaveRequest(credential: new))
}

/// Deletes a credential unless it was changed after it was looked at.
func delete(_ summary: CredentialSummary, _ delete: Delete) async throws(StorageError) {
  do throws(StorageError) {
    _ = try await delete(DeleteRequest(key: summary.key, ifRevision: summary.revision))
  } catch {
    guard error.code == .conflict else { throw error }
  }
}
