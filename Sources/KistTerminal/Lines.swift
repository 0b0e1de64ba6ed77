internal import Glibc

/// Returns the number of a terminal's columns; `nil` if the descriptor is not a terminal.
///
/// Returns 80 if the terminal does not report it (TIOCGWINSZ(2const)).
package func columns(ofTerminal descriptor: CInt) -> Int? {
  guard isatty(descriptor) == 1 else { return nil }
  var size = winsize()
  guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
  return Int(size.ws_col)
}

/// Returns a text in lines of at most this many columns, broken between words.
///
/// Text between backticks is a command that a user may copy. It gets a line of its own instead of
/// being broken; if it is wider than the line, the terminal breaks it.
package func wrapped(_ text: String, to width: Int) -> [String] {
  var lines: [String] = []
  for word in words(of: text) {
    if let last = lines.last, last.terminalWidth + 1 + word.terminalWidth <= width {
      lines[lines.count - 1] = last + " " + word
    } else {
      lines.append(word)
    }
  }
  return lines
}

/// Returns the parts that a text may be broken between.
private func words(of text: String) -> [String] {
  var words: [String] = []
  var isInCommand = false
  for word in text.split(separator: " ") {
    if isInCommand {
      words[words.count - 1] += " " + word
    } else {
      words.append(String(word))
    }
    if word.count(where: { $0 == "`" }) % 2 == 1 { isInCommand.toggle() }
  }
  return words
}
