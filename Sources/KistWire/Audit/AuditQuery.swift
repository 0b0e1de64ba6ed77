package import KistCore

/// Which lines of the audit log are asked for; what is `nil` matches every one.
package struct AuditQuery: Sendable, Equatable {
  /// What the request named, byte for byte.
  package var names = RequestedNames(service: nil, account: nil)
  package var operation: String?
  /// `ok`, or the code of an error.
  package var outcome: String?
  /// Nothing that came before it.
  package var since: Timestamp?
  package var unit: String?
  package var pid: Int?
  /// The most records on the page, 1 to 1,000.
  package var limit = Limits.page
  /// Where the page before this one ended: its `next`.
  package var after: String?

  package init() {}

  /// What a request in the log can be: an operation of the protocol, or one of two that are none.
  package static let operations = [
    Operation.load.name, Operation.save.name, Operation.delete.name, Operation.find.name,
    Operation.watch.name, Operation.status.name, Operation.lock.name, Operation.unlock.name,
    Operation.slots.name, Operation.slotAdd.name, Operation.slotRemove.name,
    Operation.backup.name, Operation.backupPart.name, Operation.audit.name, Operation.hello.name,
    "connect", "credential",
  ]

  /// Whether records are told apart by what they name.
  package var asksForNames: Bool { names.service != nil || names.account != nil }

  /// Whether a record is asked for, its names left aside.
  package func matches(_ record: AuditRecord) -> Bool {
    if let since, record.moment.second < since { return false }
    guard case .request(let request) = record.event else {
      return !asksForNames && operation == nil && outcome == nil && unit == nil && pid == nil
    }
    return (operation ?? request.operation) == request.operation
      && (outcome ?? request.outcome) == request.outcome
      && (unit ?? request.peer.unit) == request.peer.unit
      && (pid ?? request.peer.pid) == request.peer.pid
  }

  /// Whether names are asked for that a request had.
  package func matches(_ requested: RequestedNames) -> Bool {
    RequestedNames(
      service: names.service ?? requested.service, account: names.account ?? requested.account)
      == requested
  }
}

/// One page of the audit log, the newest line first.
package struct AuditPage: Sendable, Equatable {
  package var records: [AuditRecord]
  /// Where to go on, as the same query's `after`; `nil` when there is no more.
  package var next: String?

  package init(records: [AuditRecord] = [], next: String? = nil) {
    self.records = records
    self.next = next
  }
}

/// What looks something up in the audit log.
package typealias AuditLookup = @Sendable (AuditQuery) async throws(StorageError) -> AuditPage

/// Says that there is no audit log.
package let noAuditLog: AuditLookup = { _ throws(StorageError) in
  throw StorageError(
    .unavailable, "kistd keeps no audit log", hint: "start kistd without `--audit off`")
}

extension AuditedRequest {
  /// `ok`, or the code of the error.
  package var outcome: String { failure?.rawValue ?? "ok" }
}
