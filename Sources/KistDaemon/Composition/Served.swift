internal import KistCore
internal import KistWire

/// An open storage and the handler of requests on it.
///
/// A class, because a copy of all its closures for each request costs a load 2 %.
final class Served: Sendable {
  let storage: OpenStorage
  let dispatch: Dispatch

  init(_ storage: OpenStorage, _ audit: AuditLog?) async {
    self.storage = await storage.audited(by: audit)
    dispatch = KistWire.dispatch(
      Endpoints(serving: self.storage, audit: audit?.access(self.storage.nameSeal) ?? .none))
  }
}
