extension Span<UInt8> {
  /// The offset of the first byte of this value, at or after a start; looked for eight at a time.
  package func firstOffset(of byte: UInt8, from start: Int) -> Int? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let pattern = ones &* UInt64(byte)
    var offset = start
    while offset + 8 <= count {
      let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let difference = UInt64(littleEndian: word) ^ pattern
      // The highest bit of each byte that is zero, and perhaps of some behind it.
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
