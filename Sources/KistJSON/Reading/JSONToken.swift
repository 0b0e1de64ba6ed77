internal import KistCore

/// The place of one value in a valid text.
struct JSONToken: Sendable {
  enum Kind: Sendable { case string(hasEscapes: Bool), number, bool(Bool), null, object, array }

  let kind: Kind
  /// The range of the whole value, including a string's quotes or an object's braces.
  let range: Range<Int>

  /// The range between the quotes, with escapes not decoded.
  var content: Range<Int> { range.lowerBound + 1..<range.upperBound - 1 }
}

extension JSONToken {
  /// Returns a hash of a string with its escapes decoded.
  ///
  /// The process chooses the seed, so that a client cannot choose texts with the same hash.
  func textHash(_ bytes: Span<UInt8>) throws(JSONError) -> Int {
    let text = bytes.extracting(content)
    var hasher = Hasher()
    var offset = 0
    while offset < text.count { hasher.combine(try decodedScalar(text, at: &offset).value) }
    return hasher.finalize()
  }

  /// Whether two strings are equal after their escapes are decoded.
  func isSameText(as other: JSONToken, _ bytes: Span<UInt8>) -> Bool {
    let (text, otherText) = (bytes.extracting(content), bytes.extracting(other.content))
    guard case (.string(false), .string(false)) = (kind, other.kind) else {
      return KistJSON.isSameText(text, otherText)
    }
    return hasSameBytes(text, otherText)
  }
}

/// A key of an object, and its value.
struct JSONMember: Sendable {
  let key: JSONToken
  /// The `textHash` of the key, if the scanner needs it.
  let keyHash: Int?
  let value: JSONToken
}

extension JSONMember {
  /// Whether the key has this name, which is one of ours, in ASCII.
  func isNamed(_ name: StaticString, _ bytes: Span<UInt8>) -> Bool {
    guard case .string(hasEscapes: false) = key.kind else {
      return name.withBytes { isSameText(bytes.extracting(key.content), $0) }
    }
    return key.content.count == name.utf8CodeUnitCount
      && name.withBytes { hasSameBytes(bytes.extracting(key.content), $0) }
  }

  /// Whether the key has one of these names.
  func isNamed(oneOf names: [StaticString], _ bytes: Span<UInt8>) -> Bool {
    names.contains { isNamed($0, bytes) }
  }
}
