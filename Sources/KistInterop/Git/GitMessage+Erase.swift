internal import KistCore

extension GitMessage {
  /// Deletes what git found to be wrong: whatever is meant, and has the password that was tried.
  func erase(find: Find, load: Load, delete: Delete) async throws(StorageError) {
    guard namesSomething else {
      throw .badRequest("git named nothing to erase, and everything is not meant")
    }
    for summary in try await matchesAtURL(find) + matchesAnywhere(find) {
      guard let credential = try await stored(summary.key, load), hasSameSecret(as: credential)
      else { continue }
      try await KistInterop.delete(credential.summary, delete)
      _ = try await delete(DeleteRequest(key: Self.refreshKey(of: summary.key)))
    }
  }
}
