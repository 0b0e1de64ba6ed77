/// The 64 possible addresses of a credential's row in the table.
///
/// The first bytes of its tags determine them, and the row has the first address that was free. The
/// table is therefore a flat integer tree of any size, with the rows of a service side by side.
///
/// Two credentials rarely share their addresses: about a hundred pairs among a million of one
/// service.
struct RowAddresses: Sendable {
  private static let numberBits = 6
  private static let keyBits = 32
  private static let serviceBytes = 3

  /// The possible addresses of all credentials.
  static let all: ClosedRange<Int64> = 0...(1 << 62 - 1)

  let range: ClosedRange<Int64>

  /// Makes the addresses of one credential.
  init(of tag: RowTag) {
    let key = Self.number(of: tag.key, bytes: 4)
    let first = Self.first(of: tag.service) | key << Self.numberBits
    range = first...(first | (1 << Self.numberBits - 1))
  }

  /// Makes the addresses of all credentials of a service, and perhaps of some other services.
  init(ofService service: Tag) { self.init(ofServiceAt: Self.first(of: service)) }

  /// Makes the addresses of all credentials of the service with a credential at this address.
  init(ofServiceAt address: Int64) {
    let mask: Int64 = 1 << (Self.keyBits + Self.numberBits) - 1
    range = (address & ~mask)...(address | mask)
  }

  private static func first(of service: Tag) -> Int64 {
    number(of: service, bytes: serviceBytes) << (keyBits + numberBits)
  }

  /// Returns the first bytes of a tag as a big-endian number.
  @inline(__always)
  private static func number(of tag: Tag, bytes count: Int) -> Int64 {
    var number: Int64 = 0
    for index in 0..<count { number = number << 8 | Int64(tag.bytes[index]) }
    return number
  }
}
