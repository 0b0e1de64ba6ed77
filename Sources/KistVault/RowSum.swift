package import KistCore
internal import KistSodium

/// A sum of the keyed hashes of rows, modulo 2^256.
///
/// It shows whether a set of rows is unchanged. It can be updated without reading the other rows.
package struct RowSum: Sendable {
  // The least significant limb first.
  fileprivate var limbs: InlineArray<4, UInt64>

  /// The sum of no rows.
  package static let zero = RowSum(limbs: [0, 0, 0, 0])

  private init(limbs: InlineArray<4, UInt64>) { self.limbs = limbs }

  /// Makes the keyed hash of some bytes.
  init(of bytes: Span<UInt8>, under key: SymmetricKey) {
    let hash = InlineArray<32, UInt8> { output in key.hash(bytes, into: &output) }
    limbs = InlineArray { limb in
      (0..<8).reversed().reduce(0) { $0 << 8 | UInt64(hash[limb * 8 + $1]) }
    }
  }

  /// Reads 32 bytes as a little-endian integer.
  init(_ reader: inout ByteReader, from bytes: Span<UInt8>) throws(StorageError) {
    self = .zero
    for index in limbs.indices { limbs[index] = try reader.integer(from: bytes) }
  }

  package static func += (sum: inout RowSum, hash: RowSum) {
    var carry = false
    for index in sum.limbs.indices {
      let (partial, first) = sum.limbs[index].addingReportingOverflow(hash.limbs[index])
      let (total, second) = partial.addingReportingOverflow(carry ? 1 : 0)
      sum.limbs[index] = total
      carry = first || second
    }
  }

  package static func -= (sum: inout RowSum, hash: RowSum) {
    var borrow = false
    for index in sum.limbs.indices {
      let (partial, first) = sum.limbs[index].subtractingReportingOverflow(hash.limbs[index])
      let (total, second) = partial.subtractingReportingOverflow(borrow ? 1 : 0)
      sum.limbs[index] = total
      borrow = first || second
    }
  }
}

extension RowSum: Equatable {
  package static func == (left: RowSum, right: RowSum) -> Bool {
    left.limbs.indices.allSatisfy { left.limbs[$0] == right.limbs[$0] }
  }
}

extension WipedBytes {
  /// Appends the sum as 32 bytes, little-endian.
  mutating func append(_ sum: RowSum) {
    for index in sum.limbs.indices { append(littleEndian: sum.limbs[index]) }
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

  /// Adds a row, given its sealed parts or at least the last 16 bytes of each.
  ///
  /// Returns whether a lookup finds the row at this address.
  ///
  /// - Parameter isInOrder: whether the row was read in the order of the table, in which addresses
  ///   ascend.
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

  /// Adds a row as `add` does.
  ///
  /// Throws `corrupt` when a lookup misses it, or when a change after the header's wrote it.
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
