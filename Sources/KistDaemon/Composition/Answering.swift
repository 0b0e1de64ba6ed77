internal import KistCore
internal import KistWire

extension OpenStorage {
  /// What carries out each request of a client.
  ///
  /// The order in which an open storage is wrapped is read here: storage (which keeps limits, expiry and the deadline,
  /// and is worded and pinned, all by `open`), operations. The audit log and the reading of lines are around that, for
  /// each client.
  func dispatching(_ options: Options, _ audit: AuditLog?) -> Dispatch {
    dispatch(
      credentials, access, keySlots, backups, audit: audit?.lookup(nameSeal) ?? noAuditLog,
      hello: Hello(version: KistVersion.current, durability: durability))
  }
}
