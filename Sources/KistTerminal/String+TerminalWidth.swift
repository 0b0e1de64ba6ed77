extension String {
  /// How many columns of a terminal the text takes, as the C library's wcwidth(3) has it.
  package var terminalWidth: Int { unicodeScalars.reduce(0) { $0 + $1.terminalWidth } }

  /// The text if it takes no more columns than that; else as much of its beginning as leaves room
  /// for an ellipsis.
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
  /// How many columns of a terminal it takes: none where it is put onto the one before it, two where
  /// Unicode's EastAsianWidth.txt has it wide, else one.
  ///
  /// The C library would need a locale, which a program that is linked to nothing cannot count on.
  fileprivate var terminalWidth: Int {
    if value < 0x300 { return 1 }
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    switch value {
    // The vowels and final consonants of Hangul, which are put onto a first consonant.
    case 0x1160...0x11FF, 0xD7B0...0xD7FB: return 0
    case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C,
      0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60,
      0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265,
      0x20000...0x3FFFD:
      return 2
    default:
      return properties.isEmojiPresentation && !(0x1F1E6...0x1F1FF).contains(value) ? 2 : 1
    }
  }
}
