internal import KistCore

/// What a list tells of a credential; no column has a tab or a newline in it, since keys and
/// labels have no control characters.
func columns(of credential: CredentialSummary) -> [String] {
  [
    credential.key.service, credential.key.account, credential.label ?? "",
    credential.modifiedAt.description, credential.expiresAt?.description ?? "",
    credential.revision.rawValue,
  ]
}

/// A table with a heading, its columns aligned.
func table(of credentials: [CredentialSummary], now: Timestamp) -> String {
  guard !credentials.isEmpty else { return "there is no such credential\n" }
  let heading = ["SERVICE", "ACCOUNT", "LABEL", "MODIFIED", "EXPIRES", "REVISION"]
  let rows =
    [heading]
    + credentials.map { credential in
      var row = columns(of: credential).map(visible)
      if credential.isExpired(at: now) { row[4] += " (expired)" }
      return row
    }
  let widths = heading.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
  return rows.map { row in line(of: row, widths: widths) }.joined()
}

/// The text with what would reorder or hide a part of a line on a terminal replaced by U+FFFD.
private func visible(_ text: String) -> String {
  var visible = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    switch scalar.value {
    case 0x061C, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x2069, 0xFEFF:
      visible.append("\u{FFFD}")
    default: visible.append(scalar)
    }
  }
  return String(visible)
}

private func line(of row: [String], widths: [Int]) -> String {
  let cells = zip(row, widths).map { cell, width in
    cell + String(repeating: " ", count: width - cell.count)
  }
  var line = cells.joined(separator: "  ")
  while line.last == " " { line.removeLast() }
  return line + "\n"
}
