extension Span<UInt8> {
  /// Returns the offset of the first such byte at or after a start.
  package func firstOffset(of byte: UInt8, from start: Int) -> Int? {
    var offset = start
    while offset + 8 <= count {
      let marks = EightBytes(self, from: offset).marks(of: byte)
      if marks != 0 { return offset + marks.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < count {
      if self[offset] == byte { return offset }
      offset += 1
    }
    return nil
  }
}

extension Span<UInt8> {
  /// Whether both have the same bytes.
  @inlinable package func hasSameBytes(as other: Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    var offset = 0
    while offset + 8 <= count {
      if EightBytes(self, from: offset).bits != EightBytes(other, from: offset).bits {
        return false
      }
      offset += 8
    }
    while offset < count {
      if self[offset] != other[offset] { return false }
      offset += 1
    }
    return true
  }
}

/// Eight bytes of a text, tested all at once (Anderson, "Bit Twiddling Hacks").
@frozen @usableFromInline package struct EightBytes {
  @usableFromInline let bits: UInt64

  /// Reads the bytes at an offset, which must all be in the span.
  @inlinable package init(_ bytes: Span<UInt8>, from offset: Int) {
    let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    bits = UInt64(littleEndian: word)
  }

  @inlinable static var ones: UInt64 { 0x0101_0101_0101_0101 }
  @inlinable static var highBits: UInt64 { ones &* 0x80 }

  /// Whether all are ASCII from 0x20 to 0x7E.
  @inlinable package var arePrintable: Bool {
    (bits | (bits &+ Self.ones) | (bits &- Self.ones &* 0x20)) & Self.highBits == 0
  }

  /// Returns a number in which the highest bit of each such byte is set, and no bit if there is none.
  ///
  /// Bytes after the first one may be marked by mistake.
  @inlinable package func marks(of byte: UInt8) -> UInt64 {
    let difference = bits ^ Self.ones &* UInt64(byte)
    return (difference &- Self.ones) & ~difference & Self.highBits
  }
}
