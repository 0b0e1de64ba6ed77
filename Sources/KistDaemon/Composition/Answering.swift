internal import KistCore
internal import KistWire

extension OpenStorage {
  /// What carries out each request of a client; the audit log and the reading of lines are around it.
  func dispatching(_ audit: AuditLog?) -> Dispatch {
    dispatch(
      credentials, access, keySlots, backups, audit: audit?.lookup(nameSeal) ?? noAuditLog,
      hello: Hello(version: KistVersion.current, durability: durability))
  }
}
