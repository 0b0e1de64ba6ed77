package import KistCore

/// A JSON object over bytes that were found to be valid, which stay where they are.
package struct JSONObject: Sendable {
  private let text: Secret
  private let members: [JSONMember]

  /// Reads a text that must be one object: at most 16 levels deep, at most 128 members in each
  /// object, no duplicate keys.
  package init(_ text: Secret) throws(JSONError) {
    let (members, error) = Self.scan(text)
    if let error { throw error }
    self.init(text, members)
  }

  /// Takes what stands before the first fault of a text that could not be read.
  package init(beforeFaultIn text: Secret) { self.init(text, Self.scan(text).members) }

  init(_ text: Secret, _ members: [JSONMember]) {
    self.text = text
    self.members = members
  }

  /// The bytes of the text that it stands in.
  package var count: Int { text.count }

  /// The value of a key; `name` is in ASCII.
  package subscript(name: StaticString) -> JSONValue? {
    text.withBytes { bytes in
      for index in members.indices where members[index].isNamed(name, bytes) {
        return JSONValue(text, members[index].value, name: name)
      }
      return nil
    }
  }

  /// The value of a key that must be there.
  package func required(_ name: StaticString) throws(JSONError) -> JSONValue {
    guard let value = self[name] else { throw .key("\(name)", "is missing") }
    return value
  }

  /// Refuses every key that is not among these.
  package func refuseKeys(besides names: [StaticString]) throws(JSONError) {
    let unknown = text.withBytes { bytes in
      members.first { !$0.isNamed(oneOf: names, bytes) }
    }
    if let unknown { throw .byte(unknown.key.range.lowerBound, "an unknown key") }
  }

  /// Lends each member, key and value, as it is written, besides those of these names.
  func forEachMember(besides names: [StaticString], _ body: (Span<UInt8>) -> Void) {
    text.withBytes { bytes in
      for member in members where !member.isNamed(oneOf: names, bytes) {
        body(bytes.extracting(member.key.range.lowerBound..<member.value.range.upperBound))
      }
    }
  }

  /// Keys and values of an object that maps names, which need not be known to us, to strings.
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

  /// Keys, which need not be known to us, and their values; an error calls each `name`.
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
