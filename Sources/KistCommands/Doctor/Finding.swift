internal import KistCore
internal import KistJSON

/// A finding of `kist doctor`.
struct Finding: Sendable, Equatable {
  /// The severity of a finding.
  enum State: Sendable, Equatable {
    case ok
    /// Worth knowing; credentials are still available.
    case note
    /// Credentials are unavailable or may be lost; the code is the error's.
    case problem(StorageError.Code)
  }

  var state: State
  /// The subject, in one word.
  var subject: String
  var message: String
  var hint: String?

  init(_ state: State, _ subject: String, _ message: String, hint: String? = nil) {
    self.state = state
    self.subject = subject
    self.message = message
    self.hint = hint
  }

  static func ok(_ subject: String, _ message: String) -> Finding { Finding(.ok, subject, message) }

  static func note(_ subject: String, _ message: String, hint: String? = nil) -> Finding {
    Finding(.note, subject, message, hint: hint)
  }

  init(_ error: StorageError, about subject: String) {
    self.init(.problem(error.code), subject, error.message, hint: error.hint)
  }
}

extension Finding.State {
  /// Its word, and the number of its color: console_codes(4).
  fileprivate var shown: (word: String, color: Int) {
    switch self {
    case .ok: ("ok", 32)
    case .note: ("note", 33)
    case .problem: ("problem", 31)
    }
  }

  var code: StorageError.Code? { if case .problem(let code) = self { code } else { nil } }
}

extension Finding {
  func json() -> Secret {
    JSONWriter.object { writer in
      writer.member("state", state.shown.word)
      writer.member("code", state.code?.rawValue)
      writer.member("subject", subject)
      writer.member("message", message)
      writer.member("hint", hint)
    }
  }
}

extension Terminal {
  /// Prints the findings as JSON, in columns on a terminal, or with tabs between the parts.
  func show(_ findings: [Finding], asJSON: Bool) throws(StorageError) {
    for finding in findings {
      if asJSON {
        try writeJSON(finding.json())
      } else if outputIsTerminal {
        try showInColumns(finding)
      } else {
        let columns = [
          finding.state.shown.word, finding.subject, finding.message, finding.hint ?? "",
        ]
        try writeColumns(columns.map { visible($0) })
      }
    }
  }

  private func showInColumns(_ finding: Finding) throws(StorageError) {
    let state = padded(finding.state.shown.word, to: "problem".utf8.count)
    let subject = padded(finding.subject, to: "terraform".utf8.count)
    let column = state.utf8.count + subject.utf8.count + 4
    // A narrow terminal has no room for a column of text.
    let isNarrow = outputWidth < column + 24
    let indent = String(repeating: " ", count: isNarrow ? 2 : column)
    let texts = [finding.message] + (finding.hint.map { ["hint: \($0)"] } ?? [])
    let wrapped = texts.flatMap { lines($0, to: max(outputWidth - indent.utf8.count, 24)) }
    let first = "  " + (isNarrow ? finding.subject : "\(subject)  \(wrapped[0])")
    try writeLines(
      [first] + wrapped.dropFirst(isNarrow ? 0 : 1).map { indent + $0 },
      after: state, color: finding.state.shown.color)
  }

  private func padded(_ word: String, to width: Int) -> String {
    word + String(repeating: " ", count: max(width - word.utf8.count, 0))
  }
}
