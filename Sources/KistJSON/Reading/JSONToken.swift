internal import KistCore

/// One value where it stands in a text that was found to be valid.
struct JSONToken: Sendable {
  enum Kind: Sendable { case string(hasEscapes: Bool), number, bool(Bool), null, object, array }

  let kind: Kind
  /// All of it: a string's quotes and an object's braces included.
  let range: Range<Int>

  /// What stands between the quotes, the escapes not decoded.
  var content: Range<Int> { range.lowerBound + 1..<range.upperBound - 1 }
}

extension JSONToken {
  /// A hash of a string's text, its escapes decoded; seeded by the process, so that nobody can choose
  /// texts that share one.
  func textHash(_ bytes: Span<UInt8>) throws(JSONError) -> Int {
    let text = bytes.extracting(content)
    var hasher = Hasher()
    var offset = 0
    while offset < text.count { hasher.combine(try decodedScalar(text, at: &offset).value) }
    return hasher.finalize()
  }

  /// Whether two strings are the same text once their escapes are decoded.
  func isSameText(as other: JSONToken, _ bytes: Span<UInt8>) -> Bool {
    let (text, otherText) = (bytes.extracting(content), bytes.extracting(other.content))
    guard case (.string(false), .string(false)) = (kind, other.kind) else {
      return KistJSON.isSameText(text, otherText)
    }
    return hasSameBytes(text, otherText)
  }
}

/// A key of an object and its value.
struct JSONMember: Sendable {
  let key: JSONToken
  /// The `textHash` of the key, where it is worth one.
  let keyHash: Int?
  let value: JSONToken
}

extension JSONMember {
  /// Whether the key is this name, which is one that we know, in ASCII.
  func isNamed(_ name: StaticString, _ bytes: Span<UInt8>) -> Bool {
    guard case .string(hasEscapes: false) = key.kind else {
      return name.withBytes { isSameText(bytes.extracting(key.content), $0) }
    }
    return key.content.count == name.utf8CodeUnitCount
      && name.withBytes { hasSameBytes(bytes.extracting(key.content), $0) }
  }

  /// Whether the key is one of these names.
  func isNamed(oneOf names: [StaticString], _ bytes: Span<UInt8>) -> Bool {
    names.contains { isNamed($0, bytes) }
  }
}
