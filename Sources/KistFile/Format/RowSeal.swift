internal import KistCore
internal import KistSodium

/// Seals one part of each row and binds it to its row.
struct RowSeal: Sendable {
  private let key: SymmetricKey
  private let prefix: [UInt8]

  init(_ part: StoreFormat.Part, key: SymmetricKey, storeID: [UInt8]) {
    self.key = key
    prefix = StoreFormat.associatedData(of: part, storeID: storeID)
  }

  /// Pads and seals.
  func seal(_ bytes: consuming WipedBytes, at tag: RowTag, sequence: UInt64, nonce: [UInt8])
    -> [UInt8]
  {
    bytes.pad()
    let associatedData = associatedData(at: tag, sequence: sequence)
    return bytes.withBytes { key.seal($0, for: associatedData.span, nonce: nonce) }
  }

  /// Returns the unsealed bytes without padding; throws `corrupt` when they are not authentic.
  func open(_ sealed: Span<UInt8>, at tag: RowTag, sequence: UInt64) throws(StorageError)
    -> WipedBytes
  {
    let associatedData = associatedData(at: tag, sequence: sequence)
    guard var bytes = key.open(sealed, for: associatedData.span) else { throw .unauthenticRow }
    try bytes.unpad()
    return bytes
  }

  /// Throws as `open` does when the bytes are not authentic, without decrypting them.
  func authenticate(_ sealed: Span<UInt8>, at tag: RowTag, sequence: UInt64) throws(StorageError) {
    let associatedData = associatedData(at: tag, sequence: sequence)
    guard key.isAuthentic(sealed, for: associatedData.span) else { throw .unauthenticRow }
  }

  private func associatedData(at tag: RowTag, sequence: UInt64) -> InlineArray<68, UInt8> {
    var bytes = InlineArray<68, UInt8>(repeating: 0)
    for offset in 0..<28 { bytes[offset] = prefix[offset] }
    for offset in 0..<16 {
      bytes[28 + offset] = tag.service.bytes[offset]
      bytes[44 + offset] = tag.key.bytes[offset]
    }
    for offset in 0..<8 { bytes[60 + offset] = UInt8(truncatingIfNeeded: sequence >> (8 * offset)) }
    return bytes
  }
}
