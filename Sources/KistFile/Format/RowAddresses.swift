/// The addresses that the row of a credential may have in the table: 64 numbers that the first bytes
/// of its tags decide, and of which it has the first that was free.
///
/// So the table is a tree of integers, flat however large it is, in which the rows of a service lie
/// side by side. Two credentials seldom share their addresses: among a million of one service about a
/// hundred pairs do.
struct RowAddresses: Sendable {
  private static let numberBits = 6
  private static let keyBits = 32
  private static let serviceBytes = 3

  /// All that any credential may have.
  static let all: ClosedRange<Int64> = 0...(1 << 62 - 1)

  let range: ClosedRange<Int64>

  /// The addresses of one credential.
  init(of tag: RowTag) {
    let key = Self.number(of: tag.key, bytes: 4)
    let first = Self.first(of: tag.service) | key << Self.numberBits
    range = first...(first | (1 << Self.numberBits - 1))
  }

  /// The addresses of all credentials of a service, and perhaps of some of others.
  init(ofService service: Tag) { self.init(ofServiceAt: Self.first(of: service)) }

  /// The addresses of all credentials of the service that one of them has this address of.
  init(ofServiceAt address: Int64) {
    let mask: Int64 = 1 << (Self.keyBits + Self.numberBits) - 1
    range = (address & ~mask)...(address | mask)
  }

  private static func first(of service: Tag) -> Int64 {
    number(of: service, bytes: serviceBytes) << (keyBits + numberBits)
  }

  /// The first bytes of a tag as a number, the most significant first.
  @inline(__always)
  private static func number(of tag: Tag, bytes count: Int) -> Int64 {
    var number: Int64 = 0
    for index in 0..<count { number = number << 8 | Int64(tag.bytes[index]) }
    return number
  }
}
