internal import KistCore
internal import KistWire

/// What the audit log tells a program of a request.
func columns(of record: AuditRecord) -> [String] {
  let time = record.moment.description
  switch record.event {
  case .lost(let count): return [time, "lost", "\(count)"]
  case .request(let request):
    let peer = request.peer
    let names = request.shownNames
    return [
      time, request.operation ?? "", request.outcome, "\(request.microseconds)", "\(peer.pid)",
      "\(peer.uid)", peer.unit ?? "", peer.claims ?? "", peer.evidence.rawValue, names.service,
      names.account,
    ].map(visible)
  }
}

/// A table with a heading for a person; it fits into a terminal of this many columns, unless that is
/// very narrow.
func table(of records: [AuditRecord], width: Int) -> String {
  guard !records.isEmpty else { return "there is no such request\n" }
  let rows =
    [["TIME", "OPERATION", "OUTCOME", "SERVICE", "ACCOUNT", "UNIT", "PROGRAM", "PID"]]
    + records.map(row)
  return table(rows, width: width) { widths in
    (3...6).max { widths[$0] < widths[$1] } ?? 3
  }
}

private func row(of record: AuditRecord) -> [String] {
  let time = record.moment.second.description
  switch record.event {
  case .lost(let count):
    return [time, "lost", "\(count) requests", "", "", "", "", ""]
  case .request(let request):
    let names = request.shownNames
    return [
      time, request.operation ?? "-", request.outcome, names.service, names.account,
      request.peer.unit ?? "-", request.peer.claims ?? "-", "\(request.peer.pid)",
    ].map(visible)
  }
}

extension AuditedRequest {
  fileprivate var shownNames: (service: String, account: String) {
    switch names {
    case nil: ("", "")
    case .sealed: ("(sealed)", "(sealed)")
    case .open(let names): (names.service ?? "", names.account ?? "")
    }
  }
}
