internal import Glibc

extension Span<UInt8> {
  /// The offset of the first byte of this value, at or after a start.
  package func firstOffset(of byte: UInt8, from start: Int) -> Int? {
    let rest = extracting(start...)
    return unsafe rest.withUnsafeBytes { rest in
      guard let first = rest.baseAddress, let found = unsafe memchr(first, CInt(byte), rest.count)
      else { return nil }
      return unsafe start + first.distance(to: UnsafeRawPointer(found))
    }
  }
}
