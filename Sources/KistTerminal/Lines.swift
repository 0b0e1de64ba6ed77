internal import Glibc

/// Returns the number of columns of a terminal, or `nil` if the descriptor is not a terminal.
///
/// Returns 80 if the terminal does not report its size: TIOCGWINSZ(2const).
package func columns(ofTerminal descriptor: CInt) -> Int? {
  guard isatty(descriptor) == 1 else { return nil }
  var size = winsize()
  guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
  return Int(size.ws_col)
}

/// Returns a text in lines of at most this many columns, broken between words.
///
/// A word that is wider than a line stays whole.
///
/// Text between backticks is a command that a user may copy, so it is never broken. If it does not
/// fit on the current line, it begins the next line. If it is wider than any line, the terminal
/// breaks it.
///
/// - Parameter indent: The number of spaces before each line except the first. The text
///   may contain a name that someone else chose. With an indent, the rest of a long name does not
///   look like a separate message.
package func wrapped(_ text: String, to width: Int, indent: Int = 0) -> [String] {
  if text.isEmpty { return [] }
  var lines: [String] = []
  for word in words(of: text) {
    if let last = lines.last, last.terminalWidth + 1 + word.terminalWidth <= width {
      lines[lines.count - 1] = last + " " + word
    } else {
      lines.append(String(repeating: " ", count: lines.isEmpty ? 0 : indent) + word)
    }
  }
  return lines
}

/// Splits a text at all spaces that are not between backticks.
private func words(of text: String) -> [String] {
  var words: [String] = []
  var isInCommand = false
  // Keeps several spaces in a row, which a name or the path in a command may have.
  for word in text.split(separator: " ", omittingEmptySubsequences: false) {
    if isInCommand {
      words[words.count - 1] += " " + word
    } else {
      words.append(String(word))
    }
    if word.count(where: { $0 == "`" }) % 2 == 1 { isInCommand.toggle() }
  }
  return words
}

extension String {
  /// The number of terminal columns that the text needs: the sum of the widths of its scalars.
  package var terminalWidth: Int { unicodeScalars.reduce(0) { $0 + $1.terminalWidth } }

  /// Returns the text if it fits; otherwise shortens it, and ends it with an ellipsis.
  package func cut(toTerminalWidth width: Int) -> String {
    guard terminalWidth > width else { return self }
    var (beginning, rest) = ("", width - 1)
    for character in self {
      rest -= String(character).terminalWidth
      guard rest >= 0 else { break }
      beginning.append(character)
    }
    return beginning + "\u{2026}"
  }
}

extension Unicode.Scalar {
  /// The number of terminal columns: 0 for a scalar that combines with the one before it, 2 for a
  /// wide one (Unicode's EastAsianWidth.txt), else 1.
  ///
  /// wcwidth(3) of the C library needs a locale, which a static program may not find. So it is not
  /// used here.
  fileprivate var terminalWidth: Int {
    if value < 0x300 { return 1 }
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    switch value {
    // The vowels and final consonants of Hangul, which combine with a first consonant.
    case 0x1160...0x11FF, 0xD7B0...0xD7FB: return 0
    case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C,
      0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60,
      0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD:
      return 2
    default:
      return properties.isEmojiPresentation && !(0x1F1E6...0x1F1FF).contains(value) ? 2 : 1
    }
  }
}
