package import KistCore

/// The tagged fields of a row from a later version of kist, which this version keeps unchanged.
package struct Fields: Equatable, Sendable {
  /// The maximum bytes of all fields stored with the metadata, or with the secret.
  static let mostBytes = 32_768
  /// The bit of a tag that forbids changes to a version that does not know the tag.
  private static let criticalBit: UInt32 = 1 << 31

  /// The tag, size and value of each field, ordered by tag.
  package let bytes: Secret
  /// Whether this version must not change the credential.
  let forbidsChange: Bool

  /// Reads at least one field, up to the end of the bytes; throws `corrupt` for malformed bytes.
  init(decoding bytes: Span<UInt8>) throws(StorageError) {
    guard bytes.count <= Self.mostBytes else { throw .malformed }
    var reader = ByteReader()
    var last: UInt32 = 0
    repeat {
      let tag = try reader.integer(UInt32.self, from: bytes)
      guard tag > last else { throw .malformed }
      try reader.skip(Int(reader.integer(UInt32.self, from: bytes)), of: bytes)
      last = tag
    } while reader.offset < bytes.count
    self.bytes = Secret(copying: bytes)
    forbidsChange = last & Self.criticalBit != 0
  }
}

extension WipedBytes {
  mutating func append(_ fields: Fields) { fields.bytes.withBytes { append($0) } }

  /// Appends fields followed by their size, so that the bytes before them keep their offsets.
  mutating func appendWithSize(_ fields: Fields) {
    append(fields)
    append(littleEndian: UInt32(fields.bytes.count))
  }

  /// Removes and returns the fields that `appendWithSize` appended.
  mutating func removeFields() throws(StorageError) -> Fields {
    let size = try sizeAtEnd()
    let end = count - 4
    guard size <= end else { throw .malformed }
    let fields = try withBytes { bytes throws(StorageError) in
      try Fields(decoding: bytes.extracting(end - size..<end))
    }
    truncate(to: end - size)
    return fields
  }
}
