internal import KistCore

/// The credential of a key; `nil` where there is none.
///
/// One that has expired is an error.
func usable(_ key: CredentialKey, _ load: Load) async throws(StorageError) -> Credential? {
  do throws(StorageError) { return try await load(LoadRequest(key: key)) } catch {
    guard error.code == .notFound else { throw error.orSaveAnew }
    return nil
  }
}

/// The newest credential of a service that has not expired; `nil` where the service has none.
///
/// Where all have expired, that is an error.
func newest(
  of service: String, among isMeant: (CredentialSummary) -> Bool = { _ in true },
  now: Timestamp, find: Find, load: Load
) async throws(StorageError) -> Credential? {
  let all = try await allPages(of: CredentialQuery(service: service), find)
  let found = all.filter(isMeant).newestFirst
  guard let newest = found.first else { return nil }
  return try await usable((found.first { !$0.isExpired(at: now) } ?? newest).key, load)
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
