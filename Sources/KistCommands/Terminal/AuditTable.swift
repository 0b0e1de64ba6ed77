internal import KistCore
internal import KistTerminal
internal import KistWire

/// Returns the columns of an audit record for a program.
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
    ].map { visible($0) }
  }
}

/// Returns the lines of a table with a heading; it fits the width of the terminal if possible.
///
/// Columns without any value are left out. If the table is too wide, the unit column is left out,
/// then also the process id.
func table(of records: [AuditRecord], width: Int) -> [String] {
  guard !records.isEmpty else { return ["there is no such request"] }
  let rows = records.map(row)
  let columns = heading.indices.filter { column in
    rows.contains { !["", "-"].contains($0[column]) }
  }
  let tables = [[], ["UNIT"], ["UNIT", "PID"]].map { leftOut in
    table(columns.filter { !leftOut.contains(heading[$0]) }, of: rows, width: width)
  }
  let fitting = tables.first { table in
    table.allSatisfy { $0.terminalWidth <= width }
  }
  return fitting ?? tables[2]
}

private let heading = [
  "TIME", "OPERATION", "OUTCOME", "SERVICE", "ACCOUNT", "UNIT", "PROGRAM", "PID",
]

private func table(_ columns: [Int], of rows: [[String]], width: Int) -> [String] {
  let shown = ([heading] + rows).map { row in columns.map { row[$0] } }
  let flexible = columns.indices.filter { (3...6).contains(columns[$0]) }
  return table(shown, width: width, narrowest: "SERVICE".count) { widths in
    flexible.max { widths[$0] < widths[$1] } ?? 0
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
    ]
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
