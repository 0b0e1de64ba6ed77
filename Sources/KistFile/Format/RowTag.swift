internal import KistCore
private import KistSodium

/// Where a credential stands in the store: a keyed hash of its service, and one of its whole key.
struct RowTag: Hashable, Sendable {
  /// Bytes of each of the two.
  static let size = 16

  let service: [UInt8]
  let key: [UInt8]
}

extension StoreKeys {
  func tag(of key: CredentialKey) -> RowTag {
    RowTag(service: tag(of: [key.service]), key: tag(of: [key.service, key.account]))
  }

  func serviceTag(of service: String) -> [UInt8] { tag(of: [service]) }

  // Each part is hashed with its length, so that no two different keys are hashed as the same bytes.
  private func tag(of parts: [String]) -> [UInt8] {
    var bytes = WipedBytes(capacity: 128)
    for part in parts { bytes.append(text: part) }
    return bytes.withBytes { tags.hash($0, count: RowTag.size) }
  }
}
