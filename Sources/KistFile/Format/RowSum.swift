/// A sum modulo 2^256 of the keyed hashes of rows: it tells whether a set of rows is the one that it
/// was made of, and is brought up to date without reading the others.
struct RowSum: Equatable, Sendable {
  /// Bytes of a hash, and of the sum.
  static let size = 32

  // The least significant first.
  private var limbs: [UInt64]

  static let zero = RowSum(limbs: [0, 0, 0, 0])

  /// Reads 32 bytes as a little-endian integer.
  init(_ bytes: [UInt8]) {
    precondition(bytes.count == Self.size)
    limbs = (0..<4).map { limb in
      (0..<8).reversed().reduce(0) { $0 << 8 | UInt64(bytes[limb * 8 + $1]) }
    }
  }

  private init(limbs: [UInt64]) { self.limbs = limbs }

  /// The sum as 32 bytes, little-endian.
  var bytes: [UInt8] {
    limbs.reduce(into: []) { $0.append(littleEndian: $1) }
  }

  static func += (sum: inout RowSum, hash: RowSum) {
    var carry = false
    for index in 0..<4 {
      let (partial, first) = sum.limbs[index].addingReportingOverflow(hash.limbs[index])
      let (total, second) = partial.addingReportingOverflow(carry ? 1 : 0)
      sum.limbs[index] = total
      carry = first || second
    }
  }

  static func -= (sum: inout RowSum, hash: RowSum) {
    var borrow = false
    for index in 0..<4 {
      let (partial, first) = sum.limbs[index].subtractingReportingOverflow(hash.limbs[index])
      let (total, second) = partial.subtractingReportingOverflow(borrow ? 1 : 0)
      sum.limbs[index] = total
      borrow = first || second
    }
  }
}
