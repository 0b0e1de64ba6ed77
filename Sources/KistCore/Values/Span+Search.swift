extension Span<UInt8> {
  /// Returns the offset of the first such byte at or after a start, searching eight bytes at a
  /// time.
  package func firstOffset(of byte: UInt8, from start: Int) -> Int? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let pattern = ones &* UInt64(byte)
    var offset = start
    while offset + 8 <= count {
      let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let difference = UInt64(littleEndian: word) ^ pattern
      // The highest bit of each zero byte is set. Higher bytes may be marked by mistake.
      let marks = (difference &- ones) & ~difference & (ones &* 0x80)
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
