internal import KistCore

extension Terminal {
  /// Prints the findings: in columns on a terminal.
  ///
  /// Otherwise it prints a line for each, with tabs between state, subject, message and hint.
  func show(_ findings: [Finding], asJSON: Bool) throws(StorageError) {
    for finding in findings {
      if asJSON {
        try writeJSON(finding.json())
      } else if outputIsTerminal {
        try showInColumns(finding)
      } else {
        let columns = [finding.state.word, finding.subject, finding.message, finding.hint ?? ""]
        try writeColumns(columns.map { visible($0) })
      }
    }
  }

  private func showInColumns(_ finding: Finding) throws(StorageError) {
    let state = padded(finding.state.word, to: "problem".utf8.count)
    let subject = padded(finding.subject, to: "terraform".utf8.count)
    let indent = String(repeating: " ", count: state.utf8.count + subject.utf8.count + 4)
    let texts = [finding.message] + (finding.hint.map { ["hint: \($0)"] } ?? [])
    let wrapped = texts.flatMap { lines($0, to: max(outputWidth - indent.utf8.count, 24)) }
    try writeLines(
      wrapped.prefix(1).map { "  \(subject)  " + $0 } + wrapped.dropFirst().map { indent + $0 },
      after: state, color: finding.state.color)
  }

  private func padded(_ word: String, to width: Int) -> String {
    word + String(repeating: " ", count: max(width - word.utf8.count, 0))
  }
}

extension Finding.State {
  /// The number of its color: console_codes(4).
  fileprivate var color: Int {
    switch self {
    case .ok: 32
    case .note: 33
    case .problem: 31
    }
  }
}
