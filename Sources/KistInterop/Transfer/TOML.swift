internal import KistCore

struct TOMLString {
  /// The names of its tables, then its own name.
  let path: [String]
  let value: Secret
  let line: Int
}

/// Reads the strings of a TOML file, also in inline tables; skips arrays, booleans and integers.
///
/// Refuses what neither cargo nor its configuration has: strings in three quotes, dates, fractions.
///
/// - Parameter place: The word for a line in errors.
func tomlStrings(in text: Secret, _ place: String) throws(StorageError) -> [TOMLString] {
  var reader = TOMLReader()
  do throws(TOMLFault) {
    try text.withBytes { (bytes) throws(TOMLFault) in try reader.read(bytes) }
  } catch {
    throw .unreadable("\(place) \(error.line): \(error.problem)")
  }
  return reader.strings
}

private struct TOMLFault: Error {
  let line: Int
  let problem: String
}

/// Reads TOML; each function gets the bytes, because a span cannot be stored.
private struct TOMLReader {
  private(set) var strings: [TOMLString] = []
  private var offset = 0
  private var line = 1
  private var table: [String] = []

  mutating func read(_ bytes: Span<UInt8>) throws(TOMLFault) {
    offset = bytes.afterByteOrderMark
    while true {
      skipBlanks(bytes)
      guard let byte = peek(bytes) else { return }
      switch byte {
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "#"): break
      case UInt8(ascii: "["): try readHeader(bytes)
      default: try readSetting(bytes, in: table)
      }
      try endLine(bytes)
    }
  }

  private mutating func readHeader(_ bytes: Span<UInt8>) throws(TOMLFault) {
    let isArray = offset + 1 < bytes.count && bytes[offset + 1] == UInt8(ascii: "[")
    offset += isArray ? 2 : 1
    table = try readPath(bytes)
    for _ in 0..<(isArray ? 2 : 1) where !skip("]", bytes) {
      throw fault("the name of a table is not closed")
    }
  }

  private mutating func readSetting(
    _ bytes: Span<UInt8>, in table: [String], depth: Int = 0
  ) throws(TOMLFault) {
    let path = table + (try readPath(bytes))
    guard skip("=", bytes) else { throw fault("there is no equals sign") }
    skipBlanks(bytes)
    let start = line
    if let value = try readValue(bytes, path, depth: depth) {
      strings.append(TOMLString(path: path, value: value, line: start))
    }
  }

  /// Returns a string value; skips other values, but reads the strings of tables in them.
  private mutating func readValue(
    _ bytes: Span<UInt8>, _ path: [String], depth: Int
  ) throws(TOMLFault) -> Secret? {
    switch peek(bytes) {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return try readString(bytes)
    case UInt8(ascii: "{"), UInt8(ascii: "["): try readNested(bytes, path, depth: depth + 1)
    default: try skipWord(bytes)
    }
    return nil
  }

  private mutating func skipWord(_ bytes: Span<UInt8>) throws(TOMLFault) {
    let hasSign = skip("+", bytes) || skip("-", bytes)
    let start = offset
    while let byte = peek(bytes), isNameByte(byte) { offset += 1 }
    let word = bytes.extracting(start..<offset)
    let isInteger = word.indices.allSatisfy { ("0"..."9").contains(Unicode.Scalar(word[$0])) }
    guard isInteger && !word.isEmpty || !hasSign && (word.isEqual("true") || word.isEqual("false"))
    else { throw fault("a value is neither a quoted string nor an integer, true or false") }
  }

  private mutating func readNested(
    _ bytes: Span<UInt8>, _ path: [String], depth: Int
  ) throws(TOMLFault) {
    guard depth <= 8 else { throw fault("tables and arrays are nested deeper than 8 levels") }
    let isTable = skip("{", bytes)
    if !isTable { offset += 1 }
    let end: Unicode.Scalar = isTable ? "}" : "]"
    skipLines(bytes)
    while !skip(end, bytes) {
      guard peek(bytes) != nil else { throw notClosed(isTable) }
      if isTable {
        try readSetting(bytes, in: path, depth: depth)
      } else {
        _ = try readValue(bytes, path, depth: depth)
      }
      skipLines(bytes)
      guard skip(",", bytes) || peek(bytes) == UInt8(ascii: end) else { throw notClosed(isTable) }
      skipLines(bytes)
    }
  }

  private func notClosed(_ isTable: Bool) -> TOMLFault {
    fault(isTable ? "an inline table is not closed" : "an array is not closed")
  }

  /// Reads names with full stops between them.
  private mutating func readPath(_ bytes: Span<UInt8>) throws(TOMLFault) -> [String] {
    var path: [String] = []
    repeat {
      skipBlanks(bytes)
      let name: String?
      if peek(bytes) == UInt8(ascii: "\"") || peek(bytes) == UInt8(ascii: "'") {
        name = try readString(bytes).validText
      } else {
        let start = offset
        while let byte = peek(bytes), isNameByte(byte) { offset += 1 }
        name = start == offset ? nil : String(validating: bytes.extracting(start..<offset))
      }
      guard let name, path.count < 16 else { throw fault("a name is missing") }
      path.append(name)
      skipBlanks(bytes)
    } while skip(".", bytes)
    return path
  }

  /// Reads a string from its opening quote.
  private mutating func readString(_ bytes: Span<UInt8>) throws(TOMLFault) -> Secret {
    let quote = bytes[offset]
    offset += 1
    var value = WipedBytes()
    while let byte = peek(bytes), byte != UInt8(ascii: "\n") {
      offset += 1
      if byte == quote {
        guard value.count > 0 || peek(bytes) != quote else {
          throw fault("a string is in triple quotes; write it on one line, in one pair of quotes")
        }
        return Secret(value)
      }
      if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
        try appendEscape(bytes, to: &value)
      } else {
        value.append(byte)
      }
    }
    throw fault("a string is not closed")
  }

  private mutating func appendEscape(
    _ bytes: Span<UInt8>, to value: inout WipedBytes
  ) throws(TOMLFault) {
    guard let byte = peek(bytes) else { throw fault("a string is not closed") }
    offset += 1
    if let character = escapedCharacters[Unicode.Scalar(byte)] { return value.append(character) }
    guard let digits = escapeLengths[Unicode.Scalar(byte)] else { throw fault("an unknown escape") }
    var number: UInt32 = 0
    for _ in 0..<digits {
      guard let digit = peek(bytes)?.hexadecimalValue else {
        throw fault("an escape is not hexadecimal")
      }
      number = number << 4 | UInt32(digit)
      offset += 1
    }
    guard let scalar = Unicode.Scalar(number) else { throw fault("an escape is not a character") }
    for byte in scalar.utf8 { value.append(byte) }
  }

  private mutating func endLine(_ bytes: Span<UInt8>) throws(TOMLFault) {
    skipBlanks(bytes)
    if peek(bytes) == UInt8(ascii: "#") { skipComment(bytes) }
    _ = skip("\r", bytes)
    guard let byte = peek(bytes) else { return }
    guard byte == UInt8(ascii: "\n") else { throw fault("there is text after a value") }
    passNewline()
  }

  private mutating func passNewline() {
    offset += 1
    line += 1
  }

  /// Skips everything allowed between the values of an array or of an inline table.
  private mutating func skipLines(_ bytes: Span<UInt8>) {
    while let byte = peek(bytes) {
      switch byte {
      case UInt8(ascii: "\n"): passNewline()
      case UInt8(ascii: "#"): skipComment(bytes)
      case _ where isSpace(byte): offset += 1
      default: return
      }
    }
  }

  private mutating func skipComment(_ bytes: Span<UInt8>) {
    offset = bytes.firstOffset(of: UInt8(ascii: "\n"), from: offset) ?? bytes.count
  }

  private mutating func skipBlanks(_ bytes: Span<UInt8>) {
    while let byte = peek(bytes), isBlank(byte) { offset += 1 }
  }

  private mutating func skip(_ character: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
    guard peek(bytes) == UInt8(ascii: character) else { return false }
    offset += 1
    return true
  }

  private func peek(_ bytes: Span<UInt8>) -> UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private func fault(_ problem: String) -> TOMLFault { TOMLFault(line: line, problem: problem) }
}

private let escapedCharacters: [Unicode.Scalar: UInt8] = [
  "b": 0x08, "t": 0x09, "n": 0x0A, "e": 0x1B, "f": 0x0C, "r": 0x0D, "\"": 0x22, "\\": 0x5C,
]

/// The number of hexadecimal digits after `\x`, `\u` and `\U`.
private let escapeLengths: [Unicode.Scalar: Int] = ["x": 2, "u": 4, "U": 8]
