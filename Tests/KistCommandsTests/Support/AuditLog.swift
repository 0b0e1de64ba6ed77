import KistCore
import KistTesting
import KistWire

/// A log of five lines, on pages of two at most.
let sampleAuditLog = AuditAccess(find: lookup, verify: { () throws(StorageError) in verdict })

private let verdict: AuditVerdict = {
  var verdict = AuditVerdict()
  verdict.verified = 4
  verdict.unchained = 1
  verdict.unchecked = 12
  verdict.since = moment(at: 0)
  verdict.until = moment(at: 40)
  return verdict
}()

/// One from which lines were taken.
let cutAuditLog = AuditAccess(
  find: { _ throws(StorageError) in AuditPage(records: [lines[0]], skipped: 2) },
  verify: { () throws(StorageError) in
    var cut = verdict
    cut.fault = AuditVerdict.Fault(.removed, file: "audit.jsonl", lines: 18...19, count: 3)
    return cut
  })

private let lookup: AuditLookup = { query throws(StorageError) in
  let start = query.after.flatMap { Int($0) } ?? 0
  let matching = lines.filter { record in
    guard query.matches(record) else { return false }
    guard query.asksForNames else { return true }
    guard case .request(let request) = record.event, case .open(let names) = request.names
    else { return false }
    return query.matches(names)
  }
  let end = min(start + min(query.limit, 2), matching.count)
  return AuditPage(
    records: Array(matching[start..<end]), next: end < matching.count ? "\(end)" : nil)
}

/// The newest first.
private let lines: [AuditRecord] = [
  line(
    at: 40, "load", .denied,
    AuditedPeer(pid: 5001, uid: 33, unit: nil, claimedName: nil, evidence: .gone), .sealed(.locked)),
  AuditRecord(moment: moment(at: 30), event: .lost(12)),
  line(at: 20, nil, .badRequest, shell, nil),
  line(
    at: 10, "load", nil,
    AuditedPeer(
      pid: 977, uid: 1000, unit: "backup.service", claimedName: "evil\u{1B}[2J\tname",
      evidence: .pid),
    .open(RequestedNames(service: "backup.example", account: ""))),
  line(
    at: 0, "save", nil, shell,
    .open(RequestedNames(service: "github.com", account: "alice"))),
]

private let shell = AuditedPeer(
  pid: 4242, uid: 1000, unit: "session-2.scope", claimedName: "kist", evidence: .pidfd)

private func moment(at second: Int64) -> AuditRecord.Moment {
  AuditRecord.Moment(second: Timestamp.sample.advanced(bySeconds: second)!, milliseconds: 7)
}

private func line(
  at second: Int64, _ operation: String?, _ failure: StorageError.Code?, _ peer: AuditedPeer,
  _ names: AuditedRequest.Names?
) -> AuditRecord {
  AuditRecord(
    moment: moment(at: second),
    event: .request(
      AuditedRequest(
        operation: operation, failure: failure, microseconds: 17, peer: peer, names: names)))
}
