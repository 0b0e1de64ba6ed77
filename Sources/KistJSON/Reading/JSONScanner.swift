/// Checks in one pass whether bytes are JSON (RFC 8259), and finds the members of an object.
///
/// Depth and number of members are limited, so the time for a text is at most its length times a
/// constant. Each function gets the bytes, because a span cannot be stored.
struct JSONScanner {
  /// The maximum depth of nested values, including the outermost one.
  static let depth = 16
  /// The maximum number of members of an object.
  static let memberCount = 128
  /// The number of first members that every later one is compared with.
  ///
  /// Further members are compared only if their hashes are equal, so that long keys are not read
  /// once for each other key. Nearly all objects have few members and need no hashes.
  private static let comparedMembers = 16

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
      let hash = members.count - base < Self.comparedMembers ? nil : try key.textHash(bytes)
      try checkIsNew(key, hash, among: base..., bytes)
      skipSpace(bytes)
      guard skip(UInt8(ascii: ":"), bytes) else { throw .byte(offset, "no colon after a key") }
      skipSpace(bytes)
      let value = try scanValue(bytes, depth: depth + 1)
      members.append(JSONMember(key: key, keyHash: hash, value: value))
      skipSpace(bytes)
    } while skip(UInt8(ascii: ","), bytes)
    guard skip(UInt8(ascii: "}"), bytes) else { throw .byte(offset, "an object is not closed") }
  }

  /// Scans an array from its opening bracket and reports each element.
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
    _ key: JSONToken, _ hash: Int?, among others: PartialRangeFrom<Int>, _ bytes: Span<UInt8>
  ) throws(JSONError) {
    guard members.count - others.lowerBound < Self.memberCount else {
      throw .byte(key.range.lowerBound, "an object of more than \(Self.memberCount) members")
    }
    for other in members[others]
    where other.keyHash == nil || other.keyHash == hash {
      if other.key.isSameText(as: key, bytes) {
        throw .byte(key.range.lowerBound, "a duplicate key")
      }
    }
  }
}
