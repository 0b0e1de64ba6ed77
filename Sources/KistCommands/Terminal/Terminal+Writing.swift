internal import KistCore
internal import KistTerminal
internal import KistWire

extension Terminal {
  /// Writes text to standard output.
  func write(_ text: String) throws(StorageError) { try writeBytes(Secret(utf8: text)) }

  /// Writes bytes and a newline to standard output, in one piece.
  func writeLine(_ bytes: Secret) throws(StorageError) { try writeBytes(bytes.withNewline) }

  /// Says what was done, where a person reads it; a program has the exit status.
  func tell(_ what: String) throws(StorageError) {
    if outputIsTerminal { try write(lines(what, to: outputWidth)) }
  }

  /// Asks a person for a yes or a no; no answer is a no, and throws what was not done.
  func confirm(
    _ question: String, orElse notDone: String, hint: String
  ) throws(StorageError) {
    guard ["y", "yes"].contains(try ask("\(question) [y/N] ").lowercased()) else {
      throw StorageError(.denied, notDone, hint: hint, outcome: .unchanged)
    }
  }

  /// Says what went wrong, and what to do about it.
  func report(_ error: StorageError, asJSON: Bool) {
    if asJSON { return writeError(error.json().withNewline) }
    note(error.message, hint: error.hint)
  }

  /// Says on standard error what a person is to know, and what to do about it.
  func note(_ message: String, hint: String? = nil) {
    let texts = ["kist: \(message)"] + (hint.map { ["hint: \($0)"] } ?? [])
    writeError(Secret(utf8: texts.map { lines($0, to: errorWidth) }.joined()))
  }

  /// A text as lines of a terminal that has so many columns, or as one line where there is none.
  private func lines(_ text: String, to width: Int?) -> String {
    (width.map { wrapped(text, to: $0).joined(separator: "\n") } ?? text) + "\n"
  }
}
