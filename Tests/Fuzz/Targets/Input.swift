import KistCore

/// The bytes of an input, taken from its beginning on; zeros behind its end.
struct Input: Sendable {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

  var isEmpty: Bool { bytes.isEmpty }

  /// What is left.
  var rest: [UInt8] { Array(bytes) }

  mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

  /// One of so many, as a rule the first.
  mutating func choice(of count: Int) -> Int { Int(byte()) % count }

  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { bytes = bytes.dropFirst(count) }
    return Array(bytes.prefix(count))
  }

  /// Up to a byte, which is taken, too, or to the end.
  mutating func bytes(before end: UInt8) -> [UInt8] {
    let taken = bytes.prefix { $0 != end }
    bytes = bytes.dropFirst(taken.count + 1)
    return Array(taken)
  }

  /// As UTF-8 that was put right where it was wrong.
  mutating func text(before end: UInt8) -> String {
    String(decoding: bytes(before: end), as: UTF8.self)
  }
}
