internal import KistCore
internal import KistWire

/// An opened storage, and what carries out the requests of clients on it.
///
/// A reference, as it is lent for each request: a copy of all its closures costs a load 2 %.
final class Served: Sendable {
  let storage: OpenStorage
  let handle: Exchange

  init(_ storage: OpenStorage, _ options: Options, _ audit: AuditLog?) async {
    self.storage = await storage.audited(by: audit)
    handle = self.storage.handling(options, audit)
  }
}
