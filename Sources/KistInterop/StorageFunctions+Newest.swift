internal import KistCore

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

/// The newest credential of a service that is meant for a tool and has not expired; `nil` where the
/// service has none.
///
/// Where all have expired, that is an error.
func newest(
  of service: String, for tool: Tool, now: Timestamp, find: Find, load: Load
) async throws(StorageError) -> Credential? {
  let all = try await allPages(of: CredentialQuery(service: service), find)
  let found = all.filter { $0.isMeant(for: tool) }.newestFirst
  guard let newest = found.first else { return nil }
  return try await usable((found.first { !$0.isExpired(at: now) } ?? newest).key, for: tool, load)
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
