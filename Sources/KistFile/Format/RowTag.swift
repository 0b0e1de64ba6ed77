internal import KistCore
internal import KistSodium

/// A keyed hash of 16 bytes for lookups.
struct Tag: Sendable {
  /// The size of a tag in bytes.
  static let size = 16

  let bytes: InlineArray<16, UInt8>

  /// Makes the keyed hash of some bytes.
  init(of bytes: Span<UInt8>, under key: SymmetricKey) {
    self.bytes = InlineArray { output in key.hash(bytes, into: &output) }
  }

  /// Copies 16 bytes; `nil` for another number of bytes.
  init?(_ bytes: Span<UInt8>) {
    guard bytes.count == Self.size else { return nil }
    self.bytes = InlineArray { bytes[$0] }
  }
}

extension Tag: Equatable {
  static func == (left: Tag, right: Tag) -> Bool {
    left.bytes.indices.allSatisfy { left.bytes[$0] == right.bytes[$0] }
  }
}

/// The tags by which the store finds a credential: one of its service, and one of its whole key.
struct RowTag: Equatable, Sendable {
  let service: Tag
  let key: Tag
}

extension StoreKeys {
  func tag(of key: CredentialKey) -> RowTag {
    // Each part is hashed with its length, so that different keys never hash the same bytes.
    var bytes = WipedBytes(capacity: 128)
    bytes.append(text: key.service)
    let service = tag(of: bytes)
    bytes.append(text: key.account)
    return RowTag(service: service, key: tag(of: bytes))
  }

  func serviceTag(of service: String) -> Tag {
    var bytes = WipedBytes(capacity: 128)
    bytes.append(text: service)
    return tag(of: bytes)
  }

  private func tag(of bytes: borrowing WipedBytes) -> Tag {
    bytes.withBytes { Tag(of: $0, under: tags) }
  }
}
