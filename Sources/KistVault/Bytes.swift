package import KistCore

// How the file format encodes values. Integers are little-endian. A text is stored as a
// 32-bit count of its UTF-8 bytes, then the bytes.

extension [UInt8] {
  /// Appends an integer, with its lowest byte first.
  package mutating func append(littleEndian value: some FixedWidthInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}

extension WipedBytes {
  /// Appends an integer, with its lowest byte first.
  package mutating func append(littleEndian value: some FixedWidthInteger & BitwiseCopyable) {
    unsafe withUnsafeBytes(of: value.littleEndian) { bytes in
      let bytes = unsafe Span<UInt8>(_unsafeBytes: bytes)
      append(bytes)
    }
  }

  mutating func append(text: String) {
    append(littleEndian: UInt32(text.utf8.count))
    append(utf8: text)
  }

  /// Appends zeros up to the padded size; the last four bytes contain the original size.
  package mutating func pad() {
    let size = count
    let zeros = paddedSize(size + 4) - size - 4
    append(upTo: zeros) { $0.append(repeating: 0, count: zeros) }
    append(littleEndian: UInt32(size))
  }

  /// Removes the padding that `pad` appended; throws `corrupt` if it is missing.
  package mutating func unpad() throws(StorageError) {
    let size = try sizeAtEnd()
    guard paddedSize(size + 4) == count else { throw .malformed }
    truncate(to: size)
  }

  /// Returns the size in the last four bytes.
  func sizeAtEnd() throws(StorageError) -> Int {
    var reader = ByteReader()
    return try withBytes { bytes throws(StorageError) in
      Int(try reader.integer(UInt32.self, from: bytes.extracting(last: 4)))
    }
  }
}

/// Reads values that the functions above encoded, one after another.
///
/// Each function throws `corrupt` if the bytes end too early.
package struct ByteReader {
  /// The number of bytes that were read.
  package private(set) var offset = 0

  /// Begins with the first byte.
  package init() {}

  /// Reads an integer, with its lowest byte first.
  package mutating func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
    _ type: Integer.Type = Integer.self, from bytes: Span<UInt8>
  ) throws(StorageError) -> Integer {
    let size = Integer.bitWidth / 8
    guard bytes.count - offset >= size else { throw .malformed }
    let value = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Integer.self)
    offset += size
    return Integer(littleEndian: value)
  }

  mutating func text(from bytes: Span<UInt8>) throws(StorageError) -> String {
    let count = Int(try integer(UInt32.self, from: bytes))
    guard
      bytes.count - offset >= count,
      let text = try? UTF8Span(validating: bytes.extracting(offset..<offset + count))
    else { throw .malformed }
    offset += count
    return String(copying: text)
  }

  mutating func credentialKey(from bytes: Span<UInt8>) throws(StorageError) -> CredentialKey {
    CredentialKey(service: try text(from: bytes), account: try text(from: bytes))
  }

  /// Skips the service and the account of a credential; throws if they are not those of `key`.
  mutating func skip(_ key: CredentialKey, in bytes: Span<UInt8>) throws(StorageError) {
    try skip(key.service, in: bytes)
    try skip(key.account, in: bytes)
  }

  private mutating func skip(_ text: String, in bytes: Span<UInt8>) throws(StorageError) {
    let count = Int(try integer(UInt32.self, from: bytes))
    try skip(count, of: bytes)
    let found = bytes.extracting(offset - count..<offset)
    guard text.withBytes({ $0.hasSameBytes(as: found) }) else { throw .anotherCredential }
  }

  /// Reads some bytes.
  package mutating func bytes(_ count: Int, from bytes: Span<UInt8>) throws(StorageError) -> [UInt8]
  {
    try skip(count, of: bytes)
    return Array(copying: bytes.extracting(offset - count..<offset))
  }

  mutating func skip(_ count: Int, of bytes: Span<UInt8>) throws(StorageError) {
    guard bytes.count - offset >= count else { throw .malformed }
    offset += count
  }

  func finish(_ bytes: Span<UInt8>) throws(StorageError) {
    if offset != bytes.count { throw .malformed }
  }
}

/// Returns the size after padding, so that the size on disk does not reveal the exact size.
///
/// Up to 1 KiB, the padded size is a multiple of 64. Above 1 KiB, it follows Padmé (Nikitin and
/// others, PoPETs 2019 (4), §4), which adds at most 12 %.
func paddedSize(_ size: Int) -> Int {
  if size <= 1024 { return max(64, (size + 63) / 64 * 64) }
  let exponent = Int.bitWidth - 1 - size.leadingZeroBitCount
  let significantBits = Int.bitWidth - exponent.leadingZeroBitCount
  let mask = (1 << (exponent - significantBits)) - 1
  return (size + mask) & ~mask
}
