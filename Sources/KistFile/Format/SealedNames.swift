internal import KistCore
internal import KistSodium

private let hasService: UInt32 = 1
private let hasAccount: UInt32 = 2

/// Pads and seals what requests named, one after another, each bound to what stands before it in the
/// log.
struct NameSealing: ~Copyable {
  private var run: SealingRun
  /// Its beginning is the same for all.
  private var associatedData = WipedBytes(capacity: 512)
  private let prefixSize: Int
  private var message = WipedBytes(capacity: 128)

  init(_ run: consuming SealingRun, storeID: [UInt8]) {
    self.run = run
    let prefix = StoreFormat.associatedData(of: .names, storeID: storeID)
    associatedData.append(prefix.span)
    prefixSize = prefix.count
  }

  mutating func seal(
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
    Self.seal(message, for: associatedData, by: &run, into: &sealed)
  }

  private static func seal(
    _ message: borrowing WipedBytes, for associatedData: borrowing WipedBytes,
    by run: inout SealingRun, into sealed: inout WipedBytes
  ) {
    message.withBytes { message in
      associatedData.withBytes { run.seal(message, for: $0, into: &sealed) }
    }
  }
}

extension StoreKeys {
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
        service: flags & hasService == 0 ? nil : service,
        account: flags & hasAccount == 0 ? nil : account)
    }
  }

  private func associatedData(boundTo text: Span<UInt8>) -> [UInt8] {
    var bytes = StoreFormat.associatedData(of: .names, storeID: storeID)
    bytes.append(text)
    return bytes
  }
}
