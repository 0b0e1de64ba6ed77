internal import KistCore
internal import KistJSON

extension Operation where Input == AuditQuery, Output == AuditPage {
  /// Searches the audit log.
  static var audit: Self {
    Operation(
      name: "audit",
      keys: [
        "service", "account", "operation", "outcome", "since", "unit", "pid", "limit", "after",
      ],
      request: auditQuery, reply: auditPage)
  }
}

extension Operation where Input == Void, Output == AuditVerdict {
  /// Checks that kistd wrote the lines of the audit log.
  static var auditVerify: Self {
    Operation(name: "auditVerify", keys: [], request: .nothing, reply: auditVerdict)
  }
}

/// Refuses a page size outside the limits.
func limitingPage(_ audit: @escaping AuditLookup) -> AuditLookup {
  { query throws(StorageError) in
    guard (1...Limits.page).contains(query.limit) else {
      throw .badRequest("the limit of a page is from 1 to \(Limits.page)")
    }
    return try await audit(query)
  }
}

private let auditQuery = Codec<AuditQuery>(
  read: { object throws(JSONError) in
    var query = AuditQuery()
    query.names = try object.requestedNames()
    query.operation = try object["operation"]?.string()
    query.outcome = try object["outcome"]?.string()
    query.since = try object["since"]?.timestamp()
    query.unit = try object["unit"]?.string()
    query.pid = try object["pid"]?.integer()
    query.limit = try object["limit"]?.integer() ?? Limits.page
    query.after = try object["after"]?.string()
    return query
  },
  write: { query, writer in
    writer.member("service", query.names.service)
    writer.member("account", query.names.account)
    writer.member("operation", query.operation)
    writer.member("outcome", query.outcome)
    writer.member("since", query.since)
    writer.member("unit", query.unit)
    writer.member("pid", query.pid)
    if query.limit != Limits.page { writer.member("limit", query.limit) }
    writer.member("after", query.after)
  })

private let auditPage = Codec<AuditPage>(
  read: { object throws(JSONError) in
    AuditPage(
      records: try object.objects("records", AuditRecord.init),
      next: try object["next"]?.string(),
      // Limits the number to 2^32, more than any page has. So a client can add up the numbers of
      // all pages without an overflow.
      skipped: max(0, min(try object["skipped"]?.integer() ?? 0, 1 << 32)))
  },
  write: { page, writer in
    writer.member("records", objects: page.records)
    writer.member("next", page.next)
    if page.skipped > 0 { writer.member("skipped", page.skipped) }
  })

private let auditVerdict = Codec<AuditVerdict>(
  read: AuditVerdict.init, write: { verdict, writer in writer.members(of: verdict) })
