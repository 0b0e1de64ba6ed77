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

/// The credential of a key that is meant for a tool; `nil` where there is none.
///
/// One that has expired is an error.
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

/// Deletes a credential unless it was changed after it was looked at; returns whether it did.
@discardableResult
func delete(_ summary: CredentialSummary, _ delete: Delete) async throws(StorageError) -> Bool {
  do throws(StorageError) {
    return try await delete(DeleteRequest(key: summary.key, ifRevision: summary.revision))
  } catch {
    guard error.code == .conflict else { throw error }
    return false
  }
}

/// Deletes a credential that is meant for a tool; returns whether there was one.
func delete(
  _ key: CredentialKey, for tool: Tool, load: Load, delete: Delete
) async throws(StorageError) -> Bool {
  guard let found = try await stored(key, load)?.summary, found.isMeant(for: tool) else {
    return false
  }
  return try await KistInterop.delete(found, delete)
}

extension StorageError {
  /// The usual hint of `expired` names an option of `kist load`.
  var orSaveAnew: StorageError {
    guard code == .expired else { return self }
    var error = self
    error.hint = "save a new one"
    return error
  }
}
