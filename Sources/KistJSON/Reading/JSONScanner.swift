/// Checks in one pass whether bytes are JSON (RFC 8259), and finds the members of an object.
///
/// Depth and number of members are limited, so the time for a text is at most its length times a
/// constant. Each function gets the bytes, because a span cannot be stored.
struct JSONScanner {
  /// The maximum depth of nested values, including the outermost one.
  static let depth = 16
  static let memberCount = 128

  private(set) var members: [JSONMember] = []
  var offset: Int

  init(at offset: Int = 0) {
    self.offset = offset
    members.reserveCapacity(8)
  }

  /// Scans a whole text, which must be one object.
  mutating func scanDocument(_ bytes: Span<UInt8>) throws(JSONError) {
    skipSpace(bytes)
    guard peek(bytes) == UInt8(ascii: "{") else { throw .byte(offset, "not a JSON object") }
    try scanObject(bytes, depth: 1)
    skipSpace(bytes)
    if offset < bytes.count { throw .byte(offset, "more than one JSON object") }
  }

  /// Scans an object from its opening brace; keeps only the members of the outermost object.
  mutating func scanObject(_ bytes: Span<UInt8>, depth: Int) throws(JSONError) {
    let base = members.count
    defer { if depth > 1 { members.removeSubrange(base...) } }
    offset += 1
    skipSpace(bytes)
    if skip(UInt8(ascii: "}"), bytes) { return }
    repeat {
      skipSpace(bytes)
      guard peek(bytes) == UInt8(ascii: "\"") else {
        throw .byte(offset, "no key where one must be")
      }
      let key = try scanString(bytes)
      try checkIsNew(key, among: base..., bytes)
      skipSpace(bytes)
      guard skip(UInt8(ascii: ":"), bytes) else { throw .byte(offset, "no colon after a key") }
      skipSpace(bytes)
      let value = try scanValue(bytes, depth: depth + 1)
      members.append(JSONMember(key: key, value: value))
      skipSpace(bytes)
    } while skip(UInt8(ascii: ","), bytes)
    guard skip(UInt8(ascii: "}"), bytes) else { throw .byte(offset, "an object is not closed") }
  }

  mutating func scanArray(
    _ bytes: Span<UInt8>, depth: Int, _ each: (JSONToken) -> Void = { _ in }
  ) throws(JSONError) {
    offset += 1
    skipSpace(bytes)
    if skip(UInt8(ascii: "]"), bytes) { return }
    repeat {
      skipSpace(bytes)
      each(try scanValue(bytes, depth: depth + 1))
      skipSpace(bytes)
    } while skip(UInt8(ascii: ","), bytes)
    guard skip(UInt8(ascii: "]"), bytes) else { throw .byte(offset, "an array is not closed") }
  }

  private mutating func scanValue(
    _ bytes: Span<UInt8>, depth: Int
  ) throws(JSONError) -> JSONToken {
    let start = offset
    let kind: JSONToken.Kind
    switch peek(bytes) {
    case UInt8(ascii: "\""): return try scanString(bytes)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard depth <= Self.depth else {
        throw .byte(start, "nesting deeper than \(Self.depth) levels")
      }
      if bytes[start] == UInt8(ascii: "{") {
        try scanObject(bytes, depth: depth)
        kind = .object
      } else {
        try scanArray(bytes, depth: depth)
        kind = .array
      }
    case UInt8(ascii: "t"): kind = try scanLiteral("true", bytes, .bool(true))
    case UInt8(ascii: "f"): kind = try scanLiteral("false", bytes, .bool(false))
    case UInt8(ascii: "n"): kind = try scanLiteral("null", bytes, .null)
    default:
      try scanNumber(bytes)
      kind = .number
    }
    return JSONToken(kind: kind, range: start..<offset)
  }

  private func checkIsNew(
    _ key: JSONToken, among others: PartialRangeFrom<Int>, _ bytes: Span<UInt8>
  ) throws(JSONError) {
    guard members.count - others.lowerBound < Self.memberCount else {
      throw .byte(key.range.lowerBound, "an object of more than \(Self.memberCount) members")
    }
    if members[others].contains(where: { $0.key.isSameText(as: key, bytes) }) {
      throw .byte(key.range.lowerBound, "a duplicate key")
    }
  }
}

extension JSONScanner {
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
