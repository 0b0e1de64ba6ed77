package import KistCore

/// One value of an object, decoded when it is read as a type.
package struct JSONValue: Sendable {
  private let text: Secret
  private let token: JSONToken
  private let name: StaticString

  init(_ text: Secret, _ token: JSONToken, name: StaticString) {
    self.text = text
    self.token = token
    self.name = name
  }

  /// Whether it is `null`.
  package var isNull: Bool { if case .null = token.kind { true } else { false } }

  /// Whether it is a string.
  package var isString: Bool { if case .string = token.kind { true } else { false } }

  /// Returns an error that names this value's key.
  package func error(_ problem: String) -> JSONError { .key("\(name)", problem) }

  /// Returns `true` or `false`; throws for other values.
  package func bool() throws(JSONError) -> Bool {
    guard case .bool(let value) = token.kind else { throw error("must be true or false") }
    return value
  }

  /// Returns an integer within ±(2^53−1), which every JSON library supports, without fraction or
  /// exponent.
  package func integer() throws(JSONError) -> Int {
    guard case .number = token.kind else { throw error("must be an integer") }
    let value = text.withBytes { bytes -> Int? in
      let digits = bytes.extracting(token.range)
      let isNegative = digits[0] == UInt8(ascii: "-")
      var value = 0
      for position in (isNegative ? 1 : 0)..<digits.count {
        let digit = digits[position] &- UInt8(ascii: "0")
        guard digit < 10 else { return nil }
        value = value * 10 + Int(digit)
        guard value < 1 << 53 else { return nil }
      }
      return isNegative ? -value : value
    }
    guard let value else { throw error("must be an integer within ±(2^53−1)") }
    return value
  }

  /// Returns a string that is not a secret.
  package func string() throws(JSONError) -> String {
    guard case .string(let hasEscapes) = token.kind else { throw error("must be a string") }
    let string =
      hasEscapes
      ? try secret().withBytes { String(validating: $0) }
      : text.withBytes { String(validating: $0.extracting(token.content)) }
    guard let string else { throw error("is not UTF-8") }
    return string
  }

  /// Returns the UTF-8 of a string, in memory that is wiped.
  package func secret() throws(JSONError) -> Secret {
    guard isString else { throw error("must be a string") }
    return try text.withBytes { (bytes) throws(JSONError) in
      var decoded = WipedBytes(capacity: token.content.count)
      try appendDecoded(bytes.extracting(token.content), to: &decoded)
      return Secret(decoded)
    }
  }

  /// Returns the bytes of a base64 string (RFC 4648 §4, padded, canonical), in memory that is
  /// wiped.
  package func base64() throws(JSONError) -> Secret {
    var decoded = WipedBytes()
    let isBase64 = try secret().withBytes { appendDecodedBase64($0, to: &decoded) }
    guard isBase64 else { throw error("is not base64 (RFC 4648 §4, with padding)") }
    return Secret(decoded)
  }

  /// Returns an object.
  package func object() throws(JSONError) -> JSONObject {
    guard case .object = token.kind else { throw error("must be an object") }
    var scanner = JSONScanner(at: token.range.lowerBound)
    try text.withBytes { (bytes) throws(JSONError) in try scanner.scanObject(bytes, depth: 1) }
    return JSONObject(text, scanner.members)
  }

  /// Returns the names and values of an object from arbitrary names to strings.
  package func strings() throws(JSONError) -> [(name: String, value: String)] {
    try object().strings(as: name)
  }

  /// Returns the elements of an array.
  package func elements() throws(JSONError) -> [JSONValue] {
    guard case .array = token.kind else { throw error("must be an array") }
    var scanner = JSONScanner(at: token.range.lowerBound)
    var elements: [JSONValue] = []
    try text.withBytes { (bytes) throws(JSONError) in
      try scanner.scanArray(bytes, depth: 1) { elements.append(JSONValue(text, $0, name: name)) }
    }
    return elements
  }

  /// Lends the unchanged text of the value.
  package func withText<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    text.withBytes { body($0.extracting(token.range)) }
  }
}

/// A fault in a text and its place; the message never contains parts of the text.
package enum JSONError: Error, Equatable {
  /// A fault that begins at this byte of the text, counted from 0.
  case byte(Int, String)
  /// A fault in the value of a key; the key is one of ours, so its name repeats no input.
  case key(String, String)
}

extension JSONError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .byte(let offset, let problem): "\(problem) at byte \(offset)"
    case .key(let name, let problem): "`\(name)` \(problem)"
    }
  }
}
