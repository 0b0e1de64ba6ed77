internal import Glibc

/// How many columns a terminal has, 80 where it does not say (TIOCGWINSZ(2const)); `nil` where the
/// descriptor is of no terminal.
package func columns(ofTerminal descriptor: CInt) -> Int? {
  guard isatty(descriptor) == 1 else { return nil }
  var size = winsize()
  guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
  return Int(size.ws_col)
}

/// A text in lines of at most so many columns, broken between words.
///
/// What stands between backticks is a command that somebody may take from the screen: it stays on a
/// line of its own rather than be broken, and what is wider than that is left to the terminal.
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

/// What a text may be broken between.
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
