package import KistCore
internal import KistSodium

private let hasService: UInt32 = 1
private let hasAccount: UInt32 = 2

/// Seals names for the audit log: the service and the account of each request, one request after
/// another.
///
/// Sealed names open only if the text before them in their line is unchanged.
package struct NameSealing: ~Copyable {
  private var series: SealingSeries
  /// The associated data.
  ///
  /// It begins with the same prefix for all names.
  private var associatedData = WipedBytes(capacity: 512)
  private let prefixSize: Int
  private var message = WipedBytes(capacity: 128)

  /// Begins with a nonce of 24 random bytes.
  ///
  /// Each further message has the next nonce: the last eight bytes are a counter (`SealingSeries`).
  package init(_ keys: StoreKeys, nonce: [UInt8]) throws(StorageError) {
    series = try SealingSeries(under: keys.nameKey, nonce: nonce)
    let prefix = StoreFormat.associatedData(of: .names, storeID: keys.storeID)
    associatedData.append(prefix.span)
    prefixSize = prefix.count
  }

  /// Appends the sealed names of a request to `sealed`.
  package mutating func seal(
    _ names: RequestedNames, boundTo text: Span<UInt8>, into sealed: inout WipedBytes
  ) {
    message.removeAll()
    message.append(
      littleEndian: (names.service == nil ? 0 : hasService)
        | (names.account == nil ? 0 : hasAccount))
    message.append(text: names.service ?? "")
    message.append(text: names.account ?? "")
    message.pad()
    associatedData.truncate(to: prefixSize)
    associatedData.append(text)
    Self.seal(message, for: associatedData, by: &series, into: &sealed)
  }

  private static func seal(
    _ message: borrowing WipedBytes, for associatedData: borrowing WipedBytes,
    by series: inout SealingSeries, into sealed: inout WipedBytes
  ) {
    message.withBytes { message in
      associatedData.withBytes { series.seal(message, for: $0, into: &sealed) }
    }
  }
}

extension StoreKeys {
  /// Opens the names of a request; throws `corrupt` if another store sealed them, or if the text
  /// before them was changed.
  package func openNames(
    _ sealed: Span<UInt8>, boundTo text: Span<UInt8>
  ) throws(StorageError) -> RequestedNames {
    var associatedData = StoreFormat.associatedData(of: .names, storeID: storeID)
    associatedData.append(text)
    guard var bytes = nameKey.open(sealed, for: associatedData.span) else {
      throw .corrupt("the names in a log were not encrypted by this store, or were changed")
    }
    try bytes.unpad()
    return try bytes.withBytes { bytes throws(StorageError) in
      var reader = ByteReader()
      let flags = try reader.integer(UInt32.self, from: bytes)
      let service = try reader.text(from: bytes)
      let account = try reader.text(from: bytes)
      try reader.finish(bytes)
      return RequestedNames(
        service: flags & hasService == 0 ? nil : service,
        account: flags & hasAccount == 0 ? nil : account)
    }
  }

  /// Returns a 16-byte keyed hash, a value in the hash chain of the audit log.
  package func chainHash(of bytes: Span<UInt8>) -> [UInt8] {
    var message = StoreFormat.associatedData(of: .chain, storeID: storeID)
    message.append(bytes)
    return auditKey.hash(message.span, count: 16)
  }
}
