internal import KistCore
internal import KistWire

extension OpenStorage {
  /// Returns the handler of each request, without the audit log and the parsing of lines around it.
  func dispatching(_ audit: AuditLog?) -> Dispatch {
    dispatch(
      credentials, access, keySlots, backups, audit: audit?.access(nameSeal) ?? .none,
      hello: Hello(version: KistVersion.current, durability: durability))
  }
}
