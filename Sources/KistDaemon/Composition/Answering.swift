package import KistCore
package import KistWire

extension OpenStorage {
  /// What answers the lines of a client; the order in which an open storage is wrapped is read here:
  /// storage (which keeps limits and expiry itself, and is worded and pinned by `open`), deadline,
  /// operations, lines.
  package func answering(
    _ options: Options
  ) -> @Sendable (Line) async -> Line {
    let hello = Hello(version: KistVersion.current, durability: durability)
    return answer(with: dispatch(credentials.withDeadline(options.deadline), access, hello: hello))
  }
}
