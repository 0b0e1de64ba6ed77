package import KistCore
internal import KistJSON

extension StorageError {
  /// The message and the hint in one line, for a tool that shows only one, usually on a terminal.
  var line: String { visible(hint.map { "\(message); \($0)" } ?? message) }
}

/// Reads JSON that a tool sent.
func parsed<Result>(_ read: () throws(JSONError) -> Result) throws(StorageError) -> Result {
  do throws(JSONError) { return try read() } catch {
    throw .badRequest("the input is not valid: \(error)")
  }
}

// Byte tests for the readers of texts.

func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

/// Whether a byte is a blank or ends a line.
func isSpace(_ byte: UInt8) -> Bool {
  isBlank(byte) || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
}

/// Whether a byte is an ASCII letter or digit, or one of others.
func isAlphanumeric(_ byte: UInt8, or others: String = "") -> Bool {
  switch Unicode.Scalar(byte) {
  case "a"..."z", "A"..."Z", "0"..."9": true
  default: others.utf8.contains(byte)
  }
}

/// Whether a byte is an ASCII letter or digit, `_` or `-`.
func isNameByte(_ byte: UInt8) -> Bool { isAlphanumeric(byte, or: "_-") }

extension Span<UInt8> {
  func isEqual(_ word: StaticString) -> Bool { count == word.utf8CodeUnitCount && hasPrefix(word) }

  /// Whether the bytes begin with those of an ASCII text.
  package func hasPrefix(_ prefix: StaticString) -> Bool {
    prefix.withBytes { prefix in
      count >= prefix.count && prefix.indices.allSatisfy { self[$0] == prefix[$0] }
    }
  }

  /// The start of the text, after the byte order mark that some programs write.
  var afterByteOrderMark: Int { hasPrefix("\u{FEFF}") ? 3 : 0 }

  var trimmed: Range<Int> {
    guard let first = indices.first(where: { !isBlank(self[$0]) }) else { return 0..<0 }
    let last = indices.last { !isBlank(self[$0]) } ?? first
    return first..<last + 1
  }

  func line(at offset: Int) -> Int {
    var (line, start) = (1, 0)
    while let newline = firstOffset(of: UInt8(ascii: "\n"), from: start), newline < offset {
      line += 1
      start = newline + 1
    }
    return line
  }
}

extension Secret {
  var validText: String? { withBytes(String.init(validating:)) }

  /// Returns the text of a part of a file; an error gives the name of the part and the line.
  func text(of part: String, line: Int) throws(StorageError) -> String {
    guard let text = validText else { throw .unreadable("\(part) is not UTF-8", line: line) }
    return text
  }

  /// Lends each line, without its LF or CR LF, and its number, counted from 1.
  package func forEachLine(
    _ body: (Span<UInt8>, Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withBytes { (bytes) throws(StorageError) in
      var (start, number) = (bytes.afterByteOrderMark, 1)
      while start < bytes.count {
        let newline = bytes.firstOffset(of: UInt8(ascii: "\n"), from: start)
        var end = newline ?? bytes.count
        if newline != nil, end > start, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        try body(bytes.extracting(start..<end), number)
        start = (newline ?? bytes.count) + 1
        number += 1
      }
    }
  }

  var beginsAsJSON: Bool {
    withBytes { bytes in
      let start = (bytes.afterByteOrderMark..<bytes.count).first { !isSpace(bytes[$0]) }
      return start.map { bytes[$0] == UInt8(ascii: "{") } ?? false
    }
  }

  /// Whether it equals a word, regardless of its case; `word` must be in lower case.
  ///
  /// The function makes no copy, because the file may have a secret in place of the word.
  func isWord(_ word: String) -> Bool {
    withBytes { bytes in
      word.withBytes { word in
        bytes.count == word.count
          && word.indices.allSatisfy { offset in
            let byte = bytes[offset]
            let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            return (isUpper ? byte | 0x20 : byte) == word[offset]
          }
      }
    }
  }

  func part(_ range: Range<Int>) -> Secret { withBytes { Secret(copying: $0.extracting(range)) } }
}
