extension JSONScanner {
  /// Scans a string from its opening quote.
  mutating func scanString(_ bytes: Span<UInt8>) throws(JSONError) -> JSONToken {
    let start = offset
    var position = start + 1
    var hasEscapes = false
    while true {
      position = plainEnd(of: bytes, from: position)
      guard position < bytes.count else { throw .byte(start, "a string is not closed") }
      switch bytes[position] {
      case UInt8(ascii: "\""):
        offset = position + 1
        return JSONToken(kind: .string(hasEscapes: hasEscapes), range: start..<offset)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        _ = try escapedScalar(bytes, at: &position)
      case 0x80...: _ = try utf8Scalar(bytes, at: &position)
      case ..<0x20: throw .byte(position, "an unescaped control character")
      default: position += 1
      }
    }
  }

  /// Scans a number (RFC 8259 §6); throws if there is no value.
  mutating func scanNumber(_ bytes: Span<UInt8>) throws(JSONError) {
    let start = offset
    let isNegative = skip(UInt8(ascii: "-"), bytes)
    if !skip(UInt8(ascii: "0"), bytes), !skipDigits(bytes) {
      throw .byte(start, isNegative ? "a malformed number" : "no value where one must be")
    }
    if skip(UInt8(ascii: "."), bytes), !skipDigits(bytes) {
      throw .byte(start, "a malformed number")
    }
    if skip(UInt8(ascii: "e"), bytes) || skip(UInt8(ascii: "E"), bytes) {
      if !skip(UInt8(ascii: "+"), bytes) { _ = skip(UInt8(ascii: "-"), bytes) }
      guard skipDigits(bytes) else { throw .byte(start, "a malformed number") }
    }
  }

  mutating func scanLiteral(
    _ literal: String, _ bytes: Span<UInt8>, _ kind: JSONToken.Kind
  ) throws(JSONError) -> JSONToken.Kind {
    let start = offset
    for byte in literal.utf8 where !skip(byte, bytes) {
      throw .byte(start, "no value where one must be")
    }
    return kind
  }

  mutating func skipSpace(_ bytes: Span<UInt8>) {
    while let byte = peek(bytes), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
      offset += 1
    }
  }

  mutating func skip(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
    guard peek(bytes) == byte else { return false }
    offset += 1
    return true
  }

  func peek(_ bytes: Span<UInt8>) -> UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func skipDigits(_ bytes: Span<UInt8>) -> Bool {
    let start = offset
    while let byte = peek(bytes), byte &- UInt8(ascii: "0") < 10 { offset += 1 }
    return offset > start
  }
}
