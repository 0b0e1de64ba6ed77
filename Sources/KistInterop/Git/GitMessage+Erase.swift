internal import KistCore

extension GitMessage {
  /// Deletes credentials that git found to be wrong: those that match and have the rejected
  /// password.
  func erase(find: Find, load: Load, delete: Delete) async throws(StorageError) {
    guard let service else {
      throw .badRequest("git named no host to erase, or no protocol, and all are not meant")
    }
    for summary in try await matches(at: service, find) + matchesAnywhere(find) {
      guard let credential = try await stored(summary.key, load), hasSameSecret(as: credential)
      else { continue }
      if try await KistInterop.delete(credential.summary, delete) {
        _ = try await delete(DeleteRequest(key: Self.refreshKey(of: summary.key)))
      }
    }
  }
}
