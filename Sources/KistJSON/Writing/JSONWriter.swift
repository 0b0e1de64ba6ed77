package import KistCore

/// Writes JSON into memory that is wiped; the result is valid if the calls are nested.
///
/// Names are our own, in ASCII, and need no escapes. A member whose value is `nil` is left out.
package struct JSONWriter: ~Copyable {
  private var text: WipedBytes
  private var isFirst = true

  /// Writes one object and returns its text.
  package static func object<Failure: Error>(
    capacity: Int = 512, _ members: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) -> Secret {
    var writer = JSONWriter(text: WipedBytes(capacity: capacity))
    try writer.braced(members)
    return Secret(writer.text)
  }

  private init(text: consuming WipedBytes) { self.text = text }

  package mutating func member(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    begin(name)
    value.withBytes { string($0) }
  }

  package mutating func member(_ name: StaticString, _ moment: Timestamp?) {
    guard let moment else { return }
    let digits = moment.rfc3339
    member(name, ascii: digits.span)
  }

  /// Writes a member; the bytes must be ASCII that needs no escapes.
  package mutating func member(_ name: StaticString, ascii: Span<UInt8>) {
    begin(name)
    text.append(UInt8(ascii: "\""))
    text.append(ascii)
    text.append(UInt8(ascii: "\""))
  }

  /// Writes a member with an arbitrary name.
  package mutating func member(escaping name: String, _ value: String) {
    separate()
    name.withBytes { string($0) }
    text.append(UInt8(ascii: ":"))
    value.withBytes { string($0) }
  }

  /// Writes a member with an arbitrary name.
  package mutating func member(escaping name: String, _ value: Int) {
    separate()
    name.withBytes { string($0) }
    text.append(UInt8(ascii: ":"))
    text.append(decimal: value)
  }

  package mutating func member(_ name: StaticString, _ value: Int?) {
    guard let value else { return }
    begin(name)
    text.append(decimal: value)
  }

  package mutating func member(_ name: StaticString, _ value: Bool?) {
    guard let value else { return }
    begin(name)
    text.append(utf8: value ? "true" : "false")
  }

  package mutating func memberNull(_ name: StaticString) {
    begin(name)
    text.append(utf8: "null")
  }

  /// Writes a value that was read, with its text unchanged.
  package mutating func member(_ name: StaticString, _ value: JSONValue?) {
    guard let value else { return }
    begin(name)
    value.withText { text.append($0) }
  }

  /// Writes a member; the bytes must be UTF-8.
  package mutating func member(_ name: StaticString, text secret: Secret) {
    begin(name)
    text.reserve(secret.count + 64)
    secret.withBytes { string($0) }
  }

  package mutating func member(_ name: StaticString, base64 secret: Secret) {
    begin(name)
    secret.withBytes { base64($0) }
  }

  /// Writes a member in base64, or `null`.
  package mutating func member(_ name: StaticString, base64 bytes: [UInt8]?) {
    begin(name)
    base64(bytes)
  }

  /// Writes a member with an arbitrary name, in base64.
  package mutating func member(escaping name: String, base64 bytes: [UInt8]) {
    separate()
    name.withBytes { string($0) }
    text.append(UInt8(ascii: ":"))
    base64(bytes.span)
  }

  package mutating func member<Failure: Error>(
    _ name: StaticString, object members: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) {
    begin(name)
    try braced(members)
  }

  package mutating func member<Element>(
    _ name: StaticString, arrayOf elements: [Element],
    _ write: (Element, inout JSONWriter) -> Void
  ) {
    begin(name)
    text.append(UInt8(ascii: "["))
    isFirst = true
    for element in elements {
      separate()
      write(element, &self)
    }
    text.append(UInt8(ascii: "]"))
    isFirst = false
  }

  /// Writes one element of an array.
  package mutating func element(_ value: String) { value.withBytes { string($0) } }

  /// Writes one element of an array in base64, or `null`.
  package mutating func element(base64 bytes: [UInt8]?) { base64(bytes) }

  /// Writes one element of an array, an object.
  package mutating func braced<Failure: Error>(
    _ members: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) {
    text.append(UInt8(ascii: "{"))
    isFirst = true
    try members(&self)
    text.append(UInt8(ascii: "}"))
    isFirst = false
  }

  /// The number of written bytes.
  package var count: Int { text.count }

  /// Writes the members of an object that this type wrote, after those that end at an offset.
  package mutating func members(written object: Secret, after start: Int) {
    guard object.count - 1 > start else { return }
    separate()
    // Leaves out the comma before them and the brace after them.
    object.withBytes { text.append($0.extracting(start + 1..<$0.count - 1)) }
  }

  /// Writes the members of an object that was read, with their text unchanged, except these names.
  package mutating func members(read object: JSONObject, except names: [StaticString]) {
    object.forEachMember(except: names) { member in
      separate()
      text.append(member)
    }
  }

  private mutating func begin(_ name: StaticString) {
    separate()
    text.append(UInt8(ascii: "\""))
    name.withBytes { text.append($0) }
    text.append(UInt8(ascii: "\""))
    text.append(UInt8(ascii: ":"))
  }

  private mutating func separate() {
    if !isFirst { text.append(UInt8(ascii: ",")) }
    isFirst = false
  }

  private mutating func base64(_ bytes: [UInt8]?) {
    if let bytes { base64(bytes.span) } else { text.append(utf8: "null") }
  }

  private mutating func base64(_ bytes: Span<UInt8>) {
    text.append(UInt8(ascii: "\""))
    appendBase64(bytes, to: &text)
    text.append(UInt8(ascii: "\""))
  }

  private mutating func string(_ utf8: Span<UInt8>) {
    text.append(UInt8(ascii: "\""))
    var start = 0
    var offset = plainEnd(of: utf8, from: 0)
    while offset < utf8.count {
      if let escape = escape(at: offset, of: utf8) {
        text.append(utf8.extracting(start..<offset))
        text.append(utf8: escape.text)
        start = offset + escape.length
      }
      offset = plainEnd(of: utf8, from: max(start, offset + 1))
    }
    text.append(utf8.extracting(start..<utf8.count))
    text.append(UInt8(ascii: "\""))
  }
}

extension WipedBytes {
  /// Appends an integer digit by digit, because a string of it takes several times as long.
  package mutating func append(decimal value: Int) {
    if value < 0 { append(UInt8(ascii: "-")) }
    var digits = InlineArray<20, UInt8>(repeating: 0)
    var start = digits.count
    var rest = value.magnitude
    repeat {
      start -= 1
      digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    } while rest > 0
    append(digits.span.extracting(start...))
  }
}
