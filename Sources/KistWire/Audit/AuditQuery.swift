package import KistCore

/// A query for lines of the audit log; `nil` in a member matches every line.
package struct AuditQuery: Sendable, Equatable {
  /// The names in the request, compared byte for byte.
  package var names = RequestedNames(service: nil, account: nil)
  package var operation: String?
  /// `ok`, or the code of an error.
  package var outcome: String?
  /// The earliest time.
  package var since: Timestamp?
  package var unit: String?
  package var pid: Int?
  /// The maximum number of records on the page, 1 to 1,000.
  package var limit = Limits.page
  /// The `next` of the page before.
  package var after: String?

  package init() {}

  /// All values of `operation` in the log; the last two are not operations of the protocol.
  package static let operations = OperationRow.all.map(\.name) + ["connect", "credential"]

  /// Whether the query selects records by names.
  package var asksForNames: Bool { names.service != nil || names.account != nil }

  /// Whether a record matches, apart from its names.
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

  /// Whether the names of a request match.
  package func matches(_ requested: RequestedNames) -> Bool {
    RequestedNames(
      service: names.service ?? requested.service, account: names.account ?? requested.account)
      == requested
  }
}

/// One page of the audit log, the newest line first.
package struct AuditPage: Sendable, Equatable {
  package var records: [AuditRecord]
  /// The `after` of the query for the next page; `nil` if there are no more lines.
  package var next: String?
  /// The number of lines that this page skipped because they are not lines of the log.
  package var skipped: Int

  package init(records: [AuditRecord] = [], next: String? = nil, skipped: Int = 0) {
    self.records = records
    self.next = next
    self.skipped = skipped
  }
}

/// Looks up lines of the audit log.
package typealias AuditLookup = @Sendable (AuditQuery) async throws(StorageError) -> AuditPage

/// Checks the audit log.
package typealias AuditVerification = @Sendable () async throws(StorageError) -> AuditVerdict

/// The audit log of a kistd.
package struct AuditAccess: Sendable {
  /// Looks up lines.
  package var find: AuditLookup
  /// Checks that kistd wrote the lines.
  package var verify: AuditVerification

  package init(find: @escaping AuditLookup, verify: @escaping AuditVerification) {
    self.find = find
    self.verify = verify
  }

  /// The functions of a kistd without a log: they throw `unavailable`.
  package static let none = {
    let error = StorageError(
      .unavailable, "kistd keeps no audit log", hint: "start kistd without `--audit off`")
    return AuditAccess(
      find: { _ throws(StorageError) in throw error },
      verify: { () throws(StorageError) in throw error })
  }()
}
