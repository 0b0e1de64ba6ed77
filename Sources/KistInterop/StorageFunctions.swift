internal import KistCore

// The functions of a storage. A helper takes only those that it needs.
typealias Save = @Sendable (SaveRequest) async throws(StorageError) -> CredentialSummary
typealias Load = @Sendable (LoadRequest) async throws(StorageError) -> Credential
typealias Delete = @Sendable (DeleteRequest) async throws(StorageError) -> Bool
typealias Find = @Sendable (CredentialQuery) async throws(StorageError) -> CredentialPage

/// Returns the credential of a key, even if it has expired; `nil` if there is none.
func stored(_ key: CredentialKey, _ load: Load) async throws(StorageError) -> Credential? {
  do throws(StorageError) {
    return try await load(LoadRequest(key: key, allowExpired: true))
  } catch {
    guard error.code == .notFound else { throw error }
    return nil
  }
}

/// Returns the credential of a key that a tool may use; `nil` if there is none.
///
/// Throws if it has expired.
func usable(
  _ key: CredentialKey, for tool: Tool, _ load: Load
) async throws(StorageError) -> Credential? {
  do throws(StorageError) {
    let found = try await load(LoadRequest(key: key))
    return found.summary.isMeant(for: tool) ? found : nil
  } catch {
    guard error.code == .notFound else { throw error.orSaveAnew }
    return nil
  }
}

/// Deletes a credential unless it changed since it was read; returns whether it did.
@discardableResult
func delete(_ summary: CredentialSummary, _ delete: Delete) async throws(StorageError) -> Bool {
  do throws(StorageError) {
    return try await delete(DeleteRequest(key: summary.key, ifRevision: summary.revision))
  } catch {
    guard error.code == .conflict else { throw error }
    return false
  }
}

/// Deletes a credential that a tool may use; returns whether there was one.
func delete(
  _ key: CredentialKey, for tool: Tool, load: Load, delete: Delete
) async throws(StorageError) -> Bool {
  guard let found = try await stored(key, load)?.summary, found.isMeant(for: tool) else {
    return false
  }
  return try await KistInterop.delete(found, delete)
}

extension StorageError {
  /// This error with another hint, because the usual hint of `expired` names an option of `kist
  /// load`.
  var orSaveAnew: StorageError {
    guard code == .expired else { return self }
    var error = self
    error.hint = "save a new one"
    return error
  }
}
