internal import KistCore
internal import KistWire

/// An opened storage, and what carries out each request of a client on it.
///
/// A reference, as it is lent for each request: a copy of all its closures costs a load 2 %.
final class Served: Sendable {
  let storage: OpenStorage
  let dispatch: Dispatch

  init(_ storage: OpenStorage, _ audit: AuditLog?) async {
    self.storage = await storage.audited(by: audit)
    dispatch = self.storage.dispatching(audit)
  }
}
