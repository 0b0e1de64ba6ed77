internal import KistCore

/// Returns the padded size, which hides the exact size on disk.
///
/// Up to 1 KiB it is a multiple of 64. Above, it follows Padmé (Nikitin and others, PoPETs 2019
/// (4), §4), which adds at most 12 %.
func paddedSize(_ size: Int) -> Int {
  if size <= 1024 { return max(64, (size + 63) / 64 * 64) }
  let exponent = Int.bitWidth - 1 - size.leadingZeroBitCount
  let significantBits = Int.bitWidth - exponent.leadingZeroBitCount
  let mask = (1 << (exponent - significantBits)) - 1
  return (size + mask) & ~mask
}

extension WipedBytes {
  /// Appends zeros up to the padded size; the last four bytes contain the original size.
  mutating func pad() {
    let size = count
    append(zeros: paddedSize(size + 4) - size - 4)
    append(littleEndian: UInt32(size))
  }

  /// Removes the padding that `pad` appended.
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
