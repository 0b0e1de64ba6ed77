import KistCore

/// The bytes of an input, read from its beginning; zeros after its end.
struct Input: Sendable {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

  var isEmpty: Bool { bytes.isEmpty }

  /// The remaining bytes.
  var rest: [UInt8] { Array(bytes) }

  mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

  /// Returns one of several choices, usually the first.
  mutating func choice(of count: Int) -> Int { Int(byte()) % count }

  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { bytes = bytes.dropFirst(count) }
    return Array(bytes.prefix(count))
  }

  /// Returns the bytes before a delimiter, which is skipped, or all remaining bytes.
  mutating func bytes(before end: UInt8) -> [UInt8] {
    let taken = bytes.prefix { $0 != end }
    bytes = bytes.dropFirst(taken.count + 1)
    return Array(taken)
  }

  /// The bytes as text, with invalid UTF-8 repaired.
  mutating func text(before end: UInt8) -> String {
    String(decoding: bytes(before: end), as: UTF8.self)
  }
}
