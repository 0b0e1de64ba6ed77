internal import KistCore
internal import KistWire

extension Terminal {
  /// Writes text to standard output.
  func write(_ text: String) throws(StorageError) { try writeBytes(Secret(utf8: text)) }

  /// Writes bytes and a newline to standard output, in one piece.
  func writeLine(_ bytes: Secret) throws(StorageError) { try writeBytes(bytes.withNewline) }

  /// Says what was done, where a person reads it; a program has the exit status.
  func tell(_ what: String) throws(StorageError) {
    if outputIsTerminal { try write(what + "\n") }
  }

  /// Asks a person for a yes or a no; no answer is a no.
  func agrees(to question: String) throws(StorageError) -> Bool {
    ["y", "yes"].contains(try ask(question).lowercased())
  }

  /// Says what went wrong, and what to do about it.
  func report(_ error: StorageError, asJSON: Bool) {
    if asJSON { return writeError(error.json().withNewline) }
    let hint = error.hint.map { "hint: \($0)\n" } ?? ""
    writeError(Secret(utf8: "kist: \(error.message)\n\(hint)"))
  }
}
