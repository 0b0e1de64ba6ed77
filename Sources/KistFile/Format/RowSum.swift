internal import KistCore
internal import KistSodium

/// A sum of the keyed hashes of rows, modulo 2^256.
///
/// It shows whether a set of rows is unchanged. It can be updated without reading the other rows.
struct RowSum: Sendable {
  // The least significant limb first.
  fileprivate var limbs: InlineArray<4, UInt64>

  static let zero = RowSum(limbs: [0, 0, 0, 0])

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

  static func += (sum: inout RowSum, hash: RowSum) {
    var carry = false
    for index in sum.limbs.indices {
      let (partial, first) = sum.limbs[index].addingReportingOverflow(hash.limbs[index])
      let (total, second) = partial.addingReportingOverflow(carry ? 1 : 0)
      sum.limbs[index] = total
      carry = first || second
    }
  }

  static func -= (sum: inout RowSum, hash: RowSum) {
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
  static func == (left: RowSum, right: RowSum) -> Bool {
    left.limbs.indices.allSatisfy { left.limbs[$0] == right.limbs[$0] }
  }
}

extension WipedBytes {
  /// Appends the sum as 32 bytes, little-endian.
  mutating func append(_ sum: RowSum) {
    for index in sum.limbs.indices { append(littleEndian: sum.limbs[index]) }
  }
}
