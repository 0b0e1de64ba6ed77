internal import Glibc
internal import KistCore
internal import KistJSON
internal import KistTerminal

/// Prints the result of a command, on one line, or on several if a terminal needs them.
func tell(_ text: String) { print(asLines(text, of: STDOUT_FILENO)) }

/// Prints JSON on one line of standard output, with misleading characters as JSON escapes.
func tell(json: Secret) { print(visible(json: json).withBytes(String.init(repairing:))) }

/// Returns a text as one visible line, wrapped between words to the width of a terminal.
func asLines(_ text: String, of descriptor: CInt) -> String {
  let line = visible(text)
  return columns(ofTerminal: descriptor).map { wrapped(line, to: $0).joined(separator: "\n") }
    ?? line
}
