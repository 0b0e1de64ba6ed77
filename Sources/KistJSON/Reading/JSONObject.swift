package import KistCore

/// A JSON object in a valid text; its bytes are not copied.
package struct JSONObject: Sendable {
  private let text: Secret
  private let members: [JSONMember]

  /// Reads a text that must be one object.
  ///
  /// The limits are a depth of 16 levels and 128 members in each object. Duplicate keys are
  /// refused.
  package init(_ text: Secret) throws(JSONError) {
    let (members, error) = Self.scan(text)
    if let error { throw error }
    self.init(text, members)
  }

  /// Reads the members before the first fault of an invalid text.
  package init(beforeFaultIn text: Secret) { self.init(text, Self.scan(text).members) }

  init(_ text: Secret, _ members: [JSONMember]) {
    self.text = text
    self.members = members
  }

  /// The number of bytes of the text that contains it.
  package var count: Int { text.count }

  /// Returns the value of a key; `name` must be ASCII.
  package subscript(name: StaticString) -> JSONValue? {
    text.withBytes { bytes in
      for index in members.indices where members[index].isNamed(name, bytes) {
        return JSONValue(text, members[index].value, name: name)
      }
      return nil
    }
  }

  /// Returns the value of a key; throws if the key is missing.
  package func required(_ name: StaticString) throws(JSONError) -> JSONValue {
    guard let value = self[name] else { throw .key("\(name)", "is missing") }
    return value
  }

  /// Throws if there is a key that is not one of these.
  package func refuseKeys(except names: [StaticString]) throws(JSONError) {
    let unknown = text.withBytes { bytes in
      members.first { !$0.isNamed(oneOf: names, bytes) }
    }
    if let unknown { throw .byte(unknown.key.range.lowerBound, "an unknown key") }
  }

  /// Lends the text of each member, key and value, except members with these names.
  func forEachMember(except names: [StaticString], _ body: (Span<UInt8>) -> Void) {
    text.withBytes { bytes in
      for member in members where !member.isNamed(oneOf: names, bytes) {
        body(bytes.extracting(member.key.range.lowerBound..<member.value.range.upperBound))
      }
    }
  }

  /// Returns the keys and values of an object from arbitrary names to strings.
  func strings(as name: StaticString) throws(JSONError) -> [(name: String, value: String)] {
    var strings: [(name: String, value: String)] = []
    for member in members {
      let key = JSONValue(text, member.key, name: name)
      guard case .string = member.value.kind else {
        throw .key("\(name)", "must have strings only")
      }
      strings.append((try key.string(), try JSONValue(text, member.value, name: name).string()))
    }
    return strings
  }

  /// Returns arbitrary keys and their values; errors call each of them `name`.
  package func members(as name: StaticString) throws(JSONError) -> [(
    name: String, value: JSONValue
  )] {
    var members: [(name: String, value: JSONValue)] = []
    for member in self.members {
      let key = try JSONValue(text, member.key, name: name).string()
      members.append((key, JSONValue(text, member.value, name: name)))
    }
    return members
  }

  private static func scan(_ text: Secret) -> (members: [JSONMember], error: JSONError?) {
    var scanner = JSONScanner()
    var fault: JSONError?
    text.withBytes { bytes in
      do throws(JSONError) { try scanner.scanDocument(bytes) } catch { fault = error }
    }
    return (scanner.members, fault)
  }
}

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
  /// Whether two strings are equal after their escapes are decoded.
  func isSameText(as other: JSONToken, _ bytes: Span<UInt8>) -> Bool {
    let (text, otherText) = (bytes.extracting(content), bytes.extracting(other.content))
    guard case (.string(false), .string(false)) = (kind, other.kind) else {
      return KistJSON.isSameText(text, otherText)
    }
    return text.hasSameBytes(as: otherText)
  }
}

struct JSONMember: Sendable {
  let key: JSONToken
  let value: JSONToken
}

extension JSONMember {
  /// Whether the key has this name, which is one of ours, in ASCII.
  func isNamed(_ name: StaticString, _ bytes: Span<UInt8>) -> Bool {
    guard case .string(hasEscapes: false) = key.kind else {
      return name.withBytes { isSameText(bytes.extracting(key.content), $0) }
    }
    return key.content.count == name.utf8CodeUnitCount
      && name.withBytes { bytes.extracting(key.content).hasSameBytes(as: $0) }
  }

  func isNamed(oneOf names: [StaticString], _ bytes: Span<UInt8>) -> Bool {
    names.contains { isNamed($0, bytes) }
  }
}
