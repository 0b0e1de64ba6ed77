internal import KistCore
internal import KistSodium

extension StoreKeys {
  private static let hasService: UInt32 = 1
  private static let hasAccount: UInt32 = 2

  /// Pads and seals what a request named, bound to what stands before it in the log.
  func seal(_ names: RequestedNames, boundTo text: Span<UInt8>, nonce: [UInt8]) -> [UInt8] {
    var bytes = WipedBytes(capacity: 128)
    bytes.append(
      littleEndian: (names.service == nil ? 0 : Self.hasService)
        | (names.account == nil ? 0 : Self.hasAccount))
    bytes.append(text: names.service ?? "")
    bytes.append(text: names.account ?? "")
    bytes.pad()
    let associatedData = associatedData(boundTo: text)
    return bytes.withBytes { self.names.seal($0, for: associatedData.span, nonce: nonce) }
  }

  /// What a request named; `corrupt` when it was sealed for something else, or elsewhere.
  func openNames(_ sealed: Span<UInt8>, boundTo text: Span<UInt8>) throws(StorageError)
    -> RequestedNames
  {
    let associatedData = associatedData(boundTo: text)
    guard var bytes = names.open(sealed, for: associatedData.span) else {
      throw .corrupt("the names in a log were not sealed by this store, or were changed")
    }
    try bytes.unpad()
    return try bytes.withBytes { bytes throws(StorageError) in
      var reader = ByteReader()
      let flags = try reader.integer(UInt32.self, from: bytes)
      let service = try reader.text(from: bytes)
      let account = try reader.text(from: bytes)
      try reader.finish(bytes)
      return RequestedNames(
        service: flags & Self.hasService == 0 ? nil : service,
        account: flags & Self.hasAccount == 0 ? nil : account)
    }
  }

  private func associatedData(boundTo text: Span<UInt8>) -> [UInt8] {
    var bytes = StoreFormat.associatedData(of: .names, storeID: storeID)
    bytes.append(text)
    return bytes
  }
}
