package import KistCore
package import KistWire

extension OpenStorage {
  /// What answers the lines of a client; the order in which a storage is wrapped is read here:
  /// storage (which keeps limits and expiry itself), deadline, operations, lines.
  package func answering(
    _ options: Options, since start: ContinuousClock.Instant = .now
  ) async throws(StorageError) -> @Sendable (Line) async -> Line {
    let access = access.reporting(reason: options.reason, since: start)
    let hello = Hello(
      version: KistVersion.current, durability: try await access.status().durability)
    return answer(with: dispatch(credentials.withDeadline(options.deadline), access, hello: hello))
  }
}
