internal import KistCore

// Byte tests for the readers of texts.

func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

func isEndOfLine(_ byte: UInt8) -> Bool {
  byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
}

/// Whether a byte is an ASCII letter or digit, `_` or `-`.
func isNameByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
    true
  default: false
  }
}

extension Span<UInt8> {
  /// Whether it begins with these bytes.
  func hasPrefix(_ prefix: StaticString) -> Bool {
    prefix.withBytes { prefix in
      count >= prefix.count && prefix.indices.allSatisfy { self[$0] == prefix[$0] }
    }
  }

  /// The start of the text, after the byte order mark that some programs write.
  var afterByteOrderMark: Int { hasPrefix("\u{FEFF}") ? 3 : 0 }

  /// The range without the blanks at both ends.
  var trimmed: Range<Int> {
    guard let first = indices.first(where: { !isBlank(self[$0]) }) else { return 0..<0 }
    let last = indices.last { !isBlank(self[$0]) } ?? first
    return first..<last + 1
  }

  /// Returns the number of a byte's line, counted from 1.
  func line(at offset: Int) -> Int {
    var (line, start) = (1, 0)
    while let newline = firstOffset(of: UInt8(ascii: "\n"), from: start), newline < offset {
      line += 1
      start = newline + 1
    }
    return line
  }
}
