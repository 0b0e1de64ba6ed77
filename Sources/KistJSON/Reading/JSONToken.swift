/// One value where it stands in a text that was found to be valid.
struct JSONToken: Sendable {
  enum Kind: Sendable { case string, number, bool(Bool), null, object, array }

  let kind: Kind
  /// All of it: a string's quotes and an object's braces included.
  let range: Range<Int>

  /// What stands between the quotes, the escapes not decoded.
  var content: Range<Int> { range.lowerBound + 1..<range.upperBound - 1 }
}

/// A key of an object and its value.
struct JSONMember: Sendable {
  let key: JSONToken
  let value: JSONToken
}
