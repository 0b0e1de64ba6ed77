internal import KistCore
internal import KistTerminal

/// Returns the columns of a list for a program.
func columns(of credential: CredentialSummary) -> [String] {
  [
    credential.key.service, credential.key.account, credential.label ?? "",
    credential.modifiedAt.description, credential.expiresAt?.description ?? "",
    credential.revision.rawValue,
  ]
}

/// Returns the lines of a table, which fits into this many columns unless they are very few.
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
  // Shortens the label first, then the wider of service and account.
  return table(rows, width: width) { widths in
    widths[2] > narrowest || widths[0...1].allSatisfy { $0 <= narrowest }
      ? 2 : widths[0] > widths[1] ? 0 : 1
  }
}

/// Returns rows as lines with visible cells and aligned columns.
///
/// While they are too wide, it shortens the column that `column` chooses, down to `narrowest`.
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
