internal import KistCore
internal import KistTerminal

extension Terminal {
  /// Shows what was found: for a person in columns, elsewhere a line each, with tabs between state,
  /// subject, message and hint.
  func show(_ findings: [Finding], asJSON: Bool) throws(StorageError) {
    for finding in findings {
      if asJSON {
        try writeLine(finding.json())
      } else if outputIsTerminal {
        try write(text(of: finding))
      } else {
        let columns = [finding.state.word, finding.subject, finding.message, finding.hint ?? ""]
        try write(columns.map(visible).joined(separator: "\t") + "\n")
      }
    }
  }

  private func text(of finding: Finding) -> String {
    let state = padded(finding.state.word, to: "problem".utf8.count)
    let subject = padded(finding.subject, to: "terraform".utf8.count)
    let indent = String(repeating: " ", count: state.utf8.count + subject.utf8.count + 4)
    let texts = [finding.message] + (finding.hint.map { ["hint: \($0)"] } ?? [])
    let lines = texts.flatMap { wrapped(visible($0), to: max(outputWidth - indent.utf8.count, 24)) }
    return "\(colored(state, by: finding.state))  \(subject)  "
      + lines.joined(separator: "\n" + indent) + "\n"
  }

  private func padded(_ word: String, to width: Int) -> String {
    word + String(repeating: " ", count: max(width - word.utf8.count, 0))
  }

  private func colored(_ text: String, by state: Finding.State) -> String {
    guard outputHasColors else { return text }
    let color =
      switch state {
      case .ok: "32"
      case .note: "33"
      case .problem: "31"
      }
    return "\u{1B}[\(color)m\(text)\u{1B}[0m"
  }
}
