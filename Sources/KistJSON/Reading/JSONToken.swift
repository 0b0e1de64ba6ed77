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
  let value: JSONToken
}

extension JSONMember {
  /// Whether the key is this name, which is one that we know, in ASCII.
  func isNamed(_ name: String, _ bytes: Span<UInt8>) -> Bool {
    let text = bytes.extracting(key.content)
    return name.withBytes { name in
      guard case .string(hasEscapes: false) = key.kind else { return isSameText(text, name) }
      return hasSameBytes(text, name)
    }
  }
}
