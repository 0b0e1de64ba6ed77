package import KistCore
internal import KistSodium

/// A keyed hash of 16 bytes for lookups.
package struct Tag: Sendable {
  /// The size of a tag in bytes.
  static let size = 16

  /// The hash.
  package let bytes: InlineArray<16, UInt8>

  /// Makes the keyed hash of some bytes.
  init(of bytes: Span<UInt8>, under key: SymmetricKey) {
    self.bytes = InlineArray { output in key.hash(bytes, into: &output) }
  }

  /// Copies 16 bytes; `nil` for another number of bytes.
  package init?(_ bytes: Span<UInt8>) {
    guard bytes.count == Self.size else { return nil }
    self.bytes = InlineArray { bytes[$0] }
  }
}

extension Tag: Hashable {
  package static func == (left: Tag, right: Tag) -> Bool {
    left.bytes.indices.allSatisfy { left.bytes[$0] == right.bytes[$0] }
  }

  package func hash(into hasher: inout Hasher) {
    for index in bytes.indices { hasher.combine(bytes[index]) }
  }
}

/// The tags by which the store finds a credential: one of its service, and one of its whole key.
package struct RowTag: Hashable, Sendable {
  /// The tag of the service.
  package let service: Tag
  /// The tag of the whole key.
  package let key: Tag

  package init(service: Tag, key: Tag) {
    (self.service, self.key) = (service, key)
  }
}

/// The place to which the sealed parts of a row are bound: its tags, and the change that wrote it.
package struct RowPlace: Hashable, Sendable {
  /// The tags of the credential.
  package var tag: RowTag
  /// The number of the change that wrote the row.
  package var sequence: UInt64

  package init(tag: RowTag, sequence: UInt64) {
    (self.tag, self.sequence) = (tag, sequence)
  }
}

extension StoreKeys {
  /// Returns the tags of a credential.
  package func tag(of key: CredentialKey) -> RowTag {
    // Each part is hashed with its length, so that different keys never hash the same bytes.
    var bytes = WipedBytes(capacity: 128)
    bytes.append(text: key.service)
    let service = tag(of: bytes)
    bytes.append(text: key.account)
    return RowTag(service: service, key: tag(of: bytes))
  }

  /// Returns the tag of a service.
  package func serviceTag(of service: String) -> Tag {
    var bytes = WipedBytes(capacity: 128)
    bytes.append(text: service)
    return tag(of: bytes)
  }

  private func tag(of bytes: borrowing WipedBytes) -> Tag {
    bytes.withBytes { Tag(of: $0, under: tags) }
  }
}

/// The addresses of rows in the table.
///
/// Each credential has 64 possible ones. The first bytes of its tags determine them, and the row
/// has the first address that was free. The table is therefore a flat integer tree of any size, with
/// the rows of a service side by side.
///
/// Two credentials rarely share addresses: about a hundred pairs among a million of one service.
package enum RowAddresses {
  private static let numberBits = 6
  private static let keyBits = 32
  private static let serviceBytes = 3

  /// The possible addresses of all credentials.
  package static let all: ClosedRange<Int64> = 0...(1 << 62 - 1)

  /// Returns the addresses of one credential.
  package static func of(_ tag: RowTag) -> ClosedRange<Int64> {
    let first = first(of: tag.service) | number(of: tag.key, bytes: 4) << numberBits
    return first...(first | (1 << numberBits - 1))
  }

  /// Returns the addresses of all credentials of a service, and perhaps of some other services.
  package static func ofService(_ service: Tag) -> ClosedRange<Int64> {
    ofService(at: first(of: service))
  }

  /// Returns the addresses of all credentials of the service with a credential at this address.
  package static func ofService(at address: Int64) -> ClosedRange<Int64> {
    let mask: Int64 = 1 << (keyBits + numberBits) - 1
    return (address & ~mask)...(address | mask)
  }

  private static func first(of service: Tag) -> Int64 {
    number(of: service, bytes: serviceBytes) << (keyBits + numberBits)
  }

  /// Returns the first bytes of a tag as a big-endian number.
  @inline(__always)
  private static func number(of tag: Tag, bytes count: Int) -> Int64 {
    var number: Int64 = 0
    for index in 0..<count { number = number << 8 | Int64(tag.bytes[index]) }
    return number
  }
}
