internal import KistCore
internal import KistWire

extension OpenStorage {
  /// What carries out each request of a client.
  ///
  /// The order in which an open storage is wrapped is read here: storage (which keeps limits and expiry itself, and is worded and pinned by `open`),
  /// deadline, operations. The audit log and the reading of lines are around that, for each client.
  func dispatching(_ options: Options, _ audit: AuditLog?) -> Dispatch {
    dispatch(
      credentials.withDeadline(options.deadline, sleep: sleepUnwatched), access,
      audit: audit?.lookup(nameSeal) ?? noAuditLog,
      hello: Hello(version: KistVersion.current, durability: durability))
  }
}
