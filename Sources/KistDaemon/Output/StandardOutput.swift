internal import Glibc
internal import KistTerminal

/// Tells on standard output what a command has found or done: in a line, or in as many as it takes on a
/// terminal.
func tell(_ text: String) { print(asLines(text, of: STDOUT_FILENO)) }

/// A text on one line, broken between words where a terminal has no room for it.
func asLines(_ text: String, of descriptor: CInt) -> String {
  let line = onOneLine(text)
  return columns(ofTerminal: descriptor).map { wrapped(line, to: $0).joined(separator: "\n") }
    ?? line
}
