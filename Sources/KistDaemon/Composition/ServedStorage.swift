internal import KistCore
internal import KistServer
internal import KistWire
internal import Logging

/// An open storage and its handler; a class, so that a request does not copy all its closures.
final class Served: Sendable {
  let storage: OpenStorage
  let dispatch: Dispatch

  init(_ storage: OpenStorage, _ audit: AuditLog?) async {
    self.storage = await storage.audited(by: audit)
    dispatch = KistWire.dispatch(
      Endpoints(serving: self.storage, audit: audit?.access(self.storage.nameSeal) ?? .none))
  }
}

/// The one path from a front, which receives requests, to the storage.
///
/// Each request counts as use of the storage, holds its lease, and has a line in the audit log.
struct ServedStorage: Sendable {
  let lease: Leased<Served>
  let audit: AuditLog?
  let quiet: QuietWatch
  /// Waits until the answer to a failed request is due.
  let holdBack: @Sendable (StorageError) async -> Void

  /// Returns the front for lines: the handler of the lines of a client.
  func answer(
    _ peer: Peer, _ beginStream: @escaping BeginStream
  ) -> @Sendable (Line) async -> Line {
    let handle: Exchange = { request throws(StorageError) in
      try await perform { served throws(StorageError) in
        try await served.dispatch(request, beginStream)(request)
      }
    }
    return KistWire.answer(with: { _, _ in handle }, noting: audit?.notes(of: peer))
  }

  /// Returns the front for a service manager that requests the credentials of units.
  func unitCredentials(logger: Logger) -> UnitCredentials {
    let operation = "credential"
    return UnitCredentials(
      load: { request, peer throws(StorageError) in
        let start = SystemTick.now()
        var failure: StorageError.Code?
        defer {
          audit?.put(
            operation, of: peer, RequestedNames(request.key), failure: failure, since: start)
        }
        do throws(StorageError) {
          return try await perform { served throws(StorageError) in
            try await served.storage.credentials.load(request)
          }
        } catch {
          failure = error.code
          throw error
        }
      },
      whenRefused: { peer in audit?.put(operation, of: peer, failure: .denied) }, logger: logger)
  }

  private func perform<Output>(
    _ request: (Served) async throws(StorageError) -> Output
  ) async throws(StorageError) -> Output {
    quiet.note()
    do throws(StorageError) { return try await lease.use(request) } catch {
      // A reload waits for the users of the storage, and other requests wait for the reload.
      await holdBack(error)
      throw error
    }
  }
}
