internal import KistCore

/// Returns the newest unexpired credential of a service for a tool; `nil` if the service has none.
///
/// Throws if all have expired.
func newest(
  of service: String, for tool: Tool, now: Timestamp, find: Find, load: Load
) async throws(StorageError) -> Credential? {
  let all = try await allPages(of: CredentialQuery(service: service), find)
  let found = all.filter { $0.isMeant(for: tool) }.newestFirst
  guard let newest = found.first else { return nil }
  return try await usable((found.first { !$0.isExpired(at: now) } ?? newest).key, for: tool, load)
}

extension [CredentialSummary] {
  /// The credentials by time of save, the latest first; ties are ordered by revision, else by key.
  var newestFirst: [CredentialSummary] {
    sorted { left, right in
      if left.modifiedAt != right.modifiedAt { return left.modifiedAt > right.modifiedAt }
      return left.revision.isLater(than: right.revision) ?? (left.key < right.key)
    }
  }
}
