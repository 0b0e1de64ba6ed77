internal import KistCore

/// The size that so many bytes are padded to, so that a size on disk tells little: a multiple of 64
/// up to 1 KiB, Padmé above (Nikitin and others, PoPETs 2019 (4), §4), which adds at most 12 %.
func paddedSize(_ size: Int) -> Int {
  if size <= 1024 { return max(64, (size + 63) / 64 * 64) }
  let exponent = Int.bitWidth - 1 - size.leadingZeroBitCount
  let significantBits = Int.bitWidth - exponent.leadingZeroBitCount
  let mask = (1 << (exponent - significantBits)) - 1
  return (size + mask) & ~mask
}

extension WipedBytes {
  /// Appends zeros up to the padded size, whose last four bytes are the size before.
  mutating func pad() {
    let size = count
    append(zeros: paddedSize(size + 4) - size - 4)
    append(littleEndian: UInt32(size))
  }

  /// Takes away what `pad` appended.
  mutating func unpad() throws(StorageError) {
    let padded = count
    let size = try withBytes { bytes throws(StorageError) in
      guard padded >= 4 else { throw .malformed }
      var reader = ByteReader()
      return Int(try reader.integer(UInt32.self, from: bytes.extracting((padded - 4)...)))
    }
    guard paddedSize(size + 4) == padded else { throw .malformed }
    truncate(to: size)
  }
}
