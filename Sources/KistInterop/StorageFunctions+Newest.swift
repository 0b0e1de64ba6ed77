internal import KistCore

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

extension [CredentialSummary] {
  /// The latest save first; where two share a second, by their revisions, else by their keys.
  var newestFirst: [CredentialSummary] {
    sorted { left, right in
      if left.modifiedAt != right.modifiedAt { return left.modifiedAt > right.modifiedAt }
      return left.revision.isLater(than: right.revision) ?? (left.key < right.key)
    }
  }
}
