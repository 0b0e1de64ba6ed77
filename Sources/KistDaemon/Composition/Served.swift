internal import KistCore
internal import KistWire

/// An opened storage, and what carries out the requests of clients on it.
struct Served: Sendable {
  let storage: OpenStorage
  let handle: Exchange

  init(_ storage: OpenStorage, _ options: Options, _ audit: AuditLog?) async {
    self.storage = await storage.audited(by: audit)
    handle = self.storage.handling(options, audit)
  }
}
