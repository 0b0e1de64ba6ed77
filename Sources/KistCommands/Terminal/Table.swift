internal import KistClient
internal import KistCore
internal import KistTerminal
internal import KistWire

/// Returns the columns of a list for a program.
func columns(of credential: CredentialSummary) -> [String] {
  [
    credential.key.service, credential.key.account, credential.label ?? "",
    credential.modifiedAt.description, credential.expiresAt?.description ?? "",
    credential.revision.rawValue,
  ]
}

/// Returns the lines of a table that fits the width of the terminal, from 40 columns.
///
/// In a table that is too wide, it leaves out the time of the latest save.
func table(of credentials: [CredentialSummary], width: Int, now: Timestamp) -> [String] {
  let rows =
    [["SERVICE", "ACCOUNT", "LABEL", "MODIFIED", "EXPIRES"]]
    + credentials.map { credential in
      [
        credential.key.service, credential.key.account, credential.label ?? "",
        day(of: credential.modifiedAt),
        credential.isExpired(at: now) ? "expired" : credential.expiresAt.map(day) ?? "",
      ]
    }
  return firstFitting(width, leavingOut: [[], ["MODIFIED"]], of: rows) { rows in
    // Shortens the label first, then the wider of service and account.
    table(rows, width: width) { widths in
      widths[2] > narrowest || widths[0...1].allSatisfy { $0 <= narrowest }
        ? 2 : widths[0] > widths[1] ? 0 : 1
    }
  }
}

/// Returns the first table that fits the width; if none fits, returns the last one.
///
/// - Parameters:
///   - leftOut: For each table, the headings of the columns that it leaves out.
///   - table: Makes a table of the other columns.
private func firstFitting(
  _ width: Int, leavingOut leftOut: [[String]], of rows: [[String]],
  _ table: ([[String]]) -> [String]
) -> [String] {
  var lines: [String] = []
  for leftOut in leftOut {
    let columns = rows[0].indices.filter { !leftOut.contains(rows[0][$0]) }
    lines = table(rows.map { row in columns.map { row[$0] } })
    if lines.allSatisfy({ $0.terminalWidth <= width }) { break }
  }
  return lines
}

/// Returns rows as lines with aligned columns; escapes control and misleading characters.
///
/// While the lines are too wide, it shortens the column that `column` chooses, to `narrowest`.
func table(
  _ rows: [[String]], width: Int, narrowest: Int = narrowest, shortening column: ([Int]) -> Int
) -> [String] {
  let rows = rows.map { $0.map { visible($0) } }
  var widths = rows[0].indices.map { column in rows.map { $0[column].terminalWidth }.max() ?? 0 }
  while widths.reduce(0, +) > width - gap.count * (widths.count - 1) {
    let column = column(widths)
    guard widths[column] > narrowest else { break }
    widths[column] -= 1
  }
  return rows.map { row in line(of: row, widths: widths) }
}

private let gap = "  "
private let narrowest = 8

private func day(of moment: Timestamp) -> String { String(moment.description.prefix(10)) }

private func line(of row: [String], widths: [Int]) -> String {
  let cells = zip(row, widths).map { cell, width in
    let cell = cell.cut(toTerminalWidth: width)
    return cell + String(repeating: " ", count: width - cell.terminalWidth)
  }
  var line = cells.joined(separator: gap)
  while line.last == " " { line.removeLast() }
  return line
}

/// Returns the columns of an audit record for a program.
func columns(of record: AuditRecord) -> [String] {
  let time = record.moment.description
  switch record.event {
  case .lost(let count): return [time, "lost", "\(count)"]
  case .request(let request):
    let peer = request.peer
    let names = request.shownNames
    let columns = [
      time, request.operation ?? "", request.outcome, "\(request.microseconds)", "\(peer.pid)",
      "\(peer.uid)", peer.unit ?? "", peer.claimedName ?? "", peer.evidence.rawValue, names.service,
      names.account,
    ]
    // Only requests of an adapter have these columns.
    let claim = request.onBehalfOf.map {
      [$0.program ?? "", $0.pid.map { "\($0)" } ?? "", $0.unit ?? ""]
    }
    return (columns + (claim ?? [])).map { visible($0) }
  }
}

/// Returns the lines of a table with a heading; it fits the width of the terminal, from 40 columns.
///
/// Leaves out columns without any value. In a table that is too wide, it leaves out the unit, the
/// process id and the programs, and at last also the account and parts of the time.
func table(of records: [AuditRecord], width: Int) -> [String] {
  guard !records.isEmpty else { return ["there is no such request"] }
  let rows = [heading] + records.map(row)
  let empty = heading.indices.filter { column in
    rows.dropFirst().allSatisfy { ["", "-"].contains($0[column]) }
  }.map { heading[$0] }
  let leftOut = [[], ["UNIT"], ["UNIT", "PID"], ["UNIT", "PID", "PROGRAM", "FOR"]].map {
    $0 + empty
  }
  let wide = firstFitting(width, leavingOut: leftOut, of: rows) { rows in
    let flexible = rows[0].indices.filter { flexibleColumns.contains(rows[0][$0]) }
    return table(rows, width: width, narrowest: narrowestName) { widths in
      flexible.max { widths[$0] < widths[$1] } ?? 0
    }
  }
  guard !wide.allSatisfy({ $0.terminalWidth <= width }) else { return wide }
  let narrow =
    [Array(heading.prefix(4))]
    + rows.dropFirst().map { [String($0[0].dropFirst(5).prefix(11))] + $0[1...3] }
  return table(narrow, width: width, narrowest: narrowestName) { widths in
    (1...3).max { widths[$0] < widths[$1] } ?? 1
  }
}

private let heading = [
  "TIME", "OPERATION", "OUTCOME", "SERVICE", "ACCOUNT", "UNIT", "PROGRAM", "FOR", "PID",
]
private let flexibleColumns = ["SERVICE", "ACCOUNT", "UNIT", "PROGRAM", "FOR"]
private let narrowestName = "SERVICE".count

private func row(of record: AuditRecord) -> [String] {
  let time = record.moment.second.description
  switch record.event {
  case .lost(let count): return [time, "lost", "\(count) requests", "", "", "", "", "", ""]
  case .request(let request):
    let names = request.shownNames
    return [
      time, request.operation ?? "-", request.outcome, names.service, names.account,
      request.peer.unit ?? "-", request.peer.claimedName ?? "-",
      request.onBehalfOf?.program ?? "-", "\(request.peer.pid)",
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

extension Terminal {
  /// Prints the result of a check of the audit log; throws `corrupt` if it has a fault.
  func write(_ verdict: AuditVerdict, asJSON: Bool) throws(StorageError) {
    let width = outputIsTerminal ? outputWidth : nil
    try asJSON
      ? writeJSON(verdict.json()) : writeLines(verdict.lines.flatMap { lines($0, to: width) })
    guard let fault = verdict.fault else { return }
    throw StorageError(.corrupt, fault.description, hint: verdict.hint(for: fault))
  }
}

extension AuditVerdict {
  fileprivate var lines: [String] {
    var lines = ["ok: no line uses the current key"]
    if verified > 0 || fault != nil {
      lines[0] =
        (fault == nil ? "ok: " : "") + "verified \(count(verified))"
        + (since.map { " from \($0)" } ?? "") + (until.map { " to \($0)" } ?? "")
    }
    if unchained > 0 {
      lines.append(
        "\(count(unchained)) without a chain: kistd had no key, or another program wrote "
          + (unchained == 1 ? "it." : "them."))
    }
    if unchecked > 0 {
      let its = unchecked == 1 ? "its" : "their"
      lines.append(
        "kist could not check \(count(unchecked, "earlier line")): "
          + "\(its) chain is of another key, or was changed.")
    }
    return lines
  }

  fileprivate func hint(for fault: Fault) -> String? {
    let sentences = [
      verified > 0 ? "The verified lines before it are unchanged." : nil,
      fault.kind == .cut ? nil : "Later lines were not checked.",
      fault.kind == .tooLarge ? "If you lowered `--audit`, raise it to check this file." : nil,
    ].compactMap(\.self)
    return sentences.isEmpty ? nil : sentences.joined(separator: " ")
  }
}

extension AuditVerdict.Fault {
  fileprivate var description: String {
    let (first, last) = (lines.lowerBound, lines.upperBound)
    let place = first == last ? "at line \(first)" : "among lines \(first) to \(last)"
    let number = count.map { KistCommands.count($0) } ?? "lines"
    let missing = "\(number) \(count == 1 ? "is" : "are") missing"
    let added = "\(number) \(count == 1 ? "was" : "were") added"
    switch kind {
    case .changed: return "\(file): a line was changed \(place)"
    case .removed: return "\(file): \(missing) at or before line \(last)"
    case .added: return "\(file): \(added) \(place)"
    case .cut: return "\(file): \(missing) after line \(last)"
    case .restarted:
      return "\(file): a new chain begins at line \(first): "
        + "the file audit.jsonl.mark was removed or changed, or another program wrote this line"
    case .tooLarge:
      return "\(file): kistd did not read this file, which is larger than `--audit` allows"
    }
  }
}

private func count(_ number: Int, _ noun: String = "line") -> String {
  number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
}
