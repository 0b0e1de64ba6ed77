package import KistCore
internal import KistSodium

/// A sum of the keyed hashes of rows, modulo 2^256; it is updated without reading other rows.
package struct RowSum: Equatable, Sendable {
  fileprivate var low: UInt128 = 0
  fileprivate var high: UInt128 = 0

  /// The sum of no rows.
  package static let zero = RowSum()

  package static func += (sum: inout RowSum, hash: RowSum) {
    let (low, carries) = sum.low.addingReportingOverflow(hash.low)
    sum.low = low
    sum.high &+= hash.high &+ (carries ? 1 : 0)
  }

  package static func -= (sum: inout RowSum, hash: RowSum) {
    let (low, borrows) = sum.low.subtractingReportingOverflow(hash.low)
    sum.low = low
    sum.high &-= hash.high &+ (borrows ? 1 : 0)
  }
}

extension RowSum {
  /// Makes the keyed hash of some bytes.
  init(of bytes: Span<UInt8>, under key: SymmetricKey) {
    let hash = InlineArray<32, UInt8> { output in key.hash(bytes, into: &output) }
    var reader = ByteReader()
    try! self.init(&reader, from: hash.span)
  }

  /// Reads 32 bytes as a little-endian integer.
  init(_ reader: inout ByteReader, from bytes: Span<UInt8>) throws(StorageError) {
    (low, high) = (try reader.integer(from: bytes), try reader.integer(from: bytes))
  }
}

extension WipedBytes {
  /// Appends the sum as 32 bytes, little-endian.
  mutating func append(_ sum: RowSum) {
    append(littleEndian: sum.low)
    append(littleEndian: sum.high)
  }
}

/// The sum, the number and the order of a store's rows, to compare with its header.
package struct RowTally {
  private let keys: StoreKeys?
  private var sum = RowSum.zero
  private var lastAddress = Int64.min
  /// The number of rows.
  package private(set) var count: UInt64 = 0

  /// Begins without rows; without the keys, only the order is known.
  package init(_ keys: StoreKeys?) { self.keys = keys }

  /// Adds a row, given the ends of its sealed parts; `false` if no lookup finds it at the address.
  ///
  /// - Parameter isInOrder: whether it was read in the order of the table: addresses ascend.
  package mutating func add(
    _ metadata: Span<UInt8>, _ secret: Span<UInt8>, at place: RowPlace, address: Int64,
    isInOrder: Bool = true
  ) -> Bool {
    if let keys { sum += keys.hash(metadata, secret, at: place) }
    count += 1
    // The sum does not depend on the addresses, but a lookup misses rows at wrong addresses.
    let isFound = RowAddresses.of(place.tag).contains(address)
    guard isInOrder else { return isFound }
    defer { lastAddress = address }
    return isFound && address > lastAddress
  }

  /// Adds a row; throws `corrupt` when no lookup finds it, or a change after the header's wrote it.
  package mutating func verify(
    _ metadata: Span<UInt8>, _ secret: Span<UInt8>, at place: RowPlace, address: Int64,
    in header: Header
  ) throws(StorageError) {
    guard add(metadata, secret, at: place, address: address) else { throw .misplacedRow }
    guard place.sequence <= header.sequence else { throw .wrongRows }
  }

  /// Returns whether the rows are exactly those that the header counts.
  package func matches(_ header: Header) -> Bool { sum == header.sum && count == header.count }
}
