internal import KistCore
internal import KistJSON
internal import KistTerminal
internal import KistWire

// All output of `kist` goes through these functions (`HouseTests`). They make each line visible, so
// that text from a reply, a path or a variable cannot control a terminal or imitate another line.
extension Terminal {
  func writeLines(_ lines: [String]) throws(StorageError) { try writeBytes(text(of: lines)) }

  /// Writes a line with tabs between its columns.
  ///
  /// On a terminal the columns are made visible. A pipe gets names unchanged, except control
  /// characters: no name may have them, and they would begin another line or column.
  func writeColumns(_ columns: [String]) throws(StorageError) {
    let columns = columns.map { column in
      outputIsTerminal ? visible(column) : visible(column, escaping: \.isControl)
    }
    try writeBytes(Secret(utf8: columns.joined(separator: "\t") + "\n"))
  }

  /// Writes JSON on a line of standard output; escapes misleading characters as JSON does.
  func writeJSON(_ json: Secret) throws(StorageError) {
    try writeBytes(visible(json: json).withNewline)
  }

  /// Writes lines of text to standard output; the first begins with a word that may have a color.
  func writeLines(_ lines: [String], after word: String, color: Int) throws(StorageError) {
    let start = visible(word)
    try writeBytes(Secret(utf8: outputHasColors ? "\u{1B}[\(color)m\(start)\u{1B}[0m" : start))
    try writeLines(lines)
  }

  /// Reports success on a terminal; a program uses the exit status instead.
  func reportSuccess(_ what: String) throws(StorageError) {
    if outputIsTerminal { try writeLines(lines(what, to: outputWidth)) }
  }

  /// Prints the result of a command as JSON for a program, or reports success.
  func reportSuccess(
    _ what: String, or json: @autoclosure () -> Secret, asJSON: Bool
  ) throws(StorageError) {
    try asJSON ? writeJSON(json()) : reportSuccess(what)
  }

  /// Writes an element of a list as JSON, or in columns.
  func writeRow(
    _ columns: @autoclosure () -> [String], or json: @autoclosure () -> Secret, asJSON: Bool
  ) throws(StorageError) {
    try asJSON ? writeJSON(json()) : writeColumns(columns())
  }

  /// Asks the user a yes-or-no question; throws unless the answer is yes.
  func confirm(_ question: String, orElse notDone: String, hint: String) throws(StorageError) {
    guard ["y", "yes"].contains(try ask("\(question) [y/N] ").lowercased()) else {
      throw .refused(notDone, as: .denied, hint: hint)
    }
  }

  func report(_ error: StorageError, asJSON: Bool) {
    if asJSON { return writeError(visible(json: error.json()).withNewline) }
    note(error.message, hint: error.hint)
  }

  /// Prints a note and its hint for the user on standard error.
  func note(_ message: String, hint: String? = nil) {
    let texts = ["kist: \(message)"] + (hint.map { ["hint: \($0)"] } ?? [])
    writeErrorLines(texts.flatMap { lines($0, to: errorWidth) })
  }

  func writeErrorLines(_ lines: [String]) { writeError(text(of: lines)) }

  /// Makes a text visible, then splits it into lines of this width, or one line if it is `nil`.
  func lines(_ text: String, to width: Int?) -> [String] {
    let text = visible(text)
    return width.map { wrapped(text, to: $0) } ?? [text]
  }

  private func text(of lines: [String]) -> Secret {
    Secret(utf8: lines.map { visible($0) + "\n" }.joined())
  }
}
