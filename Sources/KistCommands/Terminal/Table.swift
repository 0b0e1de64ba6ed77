internal import KistCore
internal import KistTerminal

/// What a list tells a program of a credential; no column has a tab or a newline in it, since keys
/// and labels have no control characters.
func columns(of credential: CredentialSummary) -> [String] {
  [
    credential.key.service, credential.key.account, credential.label ?? "",
    credential.modifiedAt.description, credential.expiresAt?.description ?? "",
    credential.revision.rawValue,
  ]
}

/// A table with a heading, its columns aligned, for a person: it fits into a terminal of this many
/// columns, unless that is very narrow.
func table(of credentials: [CredentialSummary], width: Int, now: Timestamp) -> String {
  let rows =
    [["SERVICE", "ACCOUNT", "LABEL", "MODIFIED", "EXPIRES"]]
    + credentials.map { credential in
      [
        visible(credential.key.service), visible(credential.key.account),
        visible(credential.label ?? ""), day(of: credential.modifiedAt),
        credential.isExpired(at: now) ? "expired" : credential.expiresAt.map(day) ?? "",
      ]
    }
  // First the label, then the wider of service and account.
  return table(rows, width: width) { widths in
    widths[2] > narrowest || widths[0...1].allSatisfy { $0 <= narrowest }
      ? 2
      : widths[0] > widths[1] ? 0 : 1
  }
}

/// Rows with their columns aligned; where they are too wide, the column that is chosen is made
/// narrower, again and again, as far as `narrowest`.
func table(
  _ rows: [[String]], width: Int, narrowest: Int = narrowest, shortening column: ([Int]) -> Int
) -> String {
  var widths = rows[0].indices.map { column in rows.map { $0[column].terminalWidth }.max() ?? 0 }
  while widths.reduce(0, +) > width - gap.count * (widths.count - 1) {
    let column = column(widths)
    guard widths[column] > narrowest else { break }
    widths[column] -= 1
  }
  return rows.map { row in line(of: row, widths: widths) }.joined()
}

private let gap = "  "
private let narrowest = 8

/// The date of a moment, in UTC.
private func day(of moment: Timestamp) -> String { String(moment.description.prefix(10)) }

/// The text with what a terminal obeys, or what would reorder or hide a part of a line on it, replaced
/// by U+FFFD.
func visible(_ text: String) -> String {
  var visible = String.UnicodeScalarView()
  for scalar in text.unicodeScalars { visible.append(scalar.isMisleading ? "\u{FFFD}" : scalar) }
  return String(visible)
}

private func line(of row: [String], widths: [Int]) -> String {
  let cells = zip(row, widths).map { cell, width in
    let cell = cell.cut(toTerminalWidth: width)
    return cell + String(repeating: " ", count: width - cell.terminalWidth)
  }
  var line = cells.joined(separator: gap)
  while line.last == " " { line.removeLast() }
  return line + "\n"
}
