package import KistCore
internal import KistSodium

/// A 16-byte keyed hash.
///
/// The store looks up a credential by the tags of its names, so that it need not store the names in
/// plain text.
package struct Tag: Sendable {
  /// The hash.
  package let bytes: InlineArray<16, UInt8>

  /// Makes the keyed hash of some bytes.
  init(of bytes: Span<UInt8>, under key: SymmetricKey) {
    self.bytes = InlineArray { output in key.hash(bytes, into: &output) }
  }

  /// Copies a tag of 16 bytes; returns `nil` for another number of bytes.
  package init?(_ bytes: Span<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.bytes = InlineArray { bytes[$0] }
  }
}

extension Tag: Hashable {
  package static func == (left: Tag, right: Tag) -> Bool {
    left.bytes.indices.allSatisfy { left.bytes[$0] == right.bytes[$0] }
  }

  package func hash(into hasher: inout Hasher) {
    for index in bytes.indices { hasher.combine(bytes[index]) }
  }
}

/// The tags by which the store finds a credential.
package struct RowTag: Hashable, Sendable {
  /// The tag of the service.
  package let service: Tag
  /// The tag of the service and the account together.
  package let key: Tag

  package init(service: Tag, key: Tag) { (self.service, self.key) = (service, key) }
}

/// The identity of a row: its tags, and the number of the change that wrote it.
///
/// The sealed parts of the row are bound to its identity: they do not open with another one.
package struct RowIdentity: Hashable, Sendable {
  /// The tags of the credential.
  package var tag: RowTag
  /// The number of the change that wrote the row.
  package var sequence: UInt64

  package init(tag: RowTag, sequence: UInt64) { (self.tag, self.sequence) = (tag, sequence) }
}

extension StoreKeys {
  /// Returns the tags of a credential.
  package func tag(of key: CredentialKey) -> RowTag {
    // The hashed bytes include the length of each name, so that they differ for different names.
    var bytes = WipedBytes(capacity: 128)
    bytes.append(text: key.service)
    let service = tag(of: bytes)
    bytes.append(text: key.account)
    return RowTag(service: service, key: tag(of: bytes))
  }

  /// Returns the tag of a service.
  package func serviceTag(of service: String) -> Tag {
    var bytes = WipedBytes(capacity: 128)
    bytes.append(text: service)
    return tag(of: bytes)
  }

  private func tag(of bytes: borrowing WipedBytes) -> Tag {
    bytes.withBytes { Tag(of: $0, under: tagKey) }
  }
}

/// The addresses of rows in the table.
///
/// The first bytes of a credential's tags give 64 possible addresses for its row. A save uses the
/// first free one. The service's tag gives the high bits, so the rows of one service are next to
/// each other in the table.
///
/// Two credentials rarely have the same 64 addresses: in a service with a million credentials,
/// about a hundred pairs do.
package enum RowAddresses {
  /// The lowest bits of an address, which distinguish the 64 addresses of one credential.
  private static let choiceBits = 6
  /// The bits above them, which are from the tag of the service and the account.
  private static let keyTagBits = 32

  /// All possible addresses.
  package static let all: ClosedRange<Int64> = 0...(1 << 62 - 1)

  /// Returns the possible addresses of one credential.
  package static func of(_ tag: RowTag) -> ClosedRange<Int64> {
    let first = first(of: tag.service) | number(of: tag.key, bytes: 4) << choiceBits
    return first...(first | (1 << choiceBits - 1))
  }

  /// Returns the possible addresses of a service's credentials.
  ///
  /// Rows of other services may be there, too.
  package static func ofService(_ service: Tag) -> ClosedRange<Int64> {
    ofService(at: first(of: service))
  }

  /// Returns the same range, given the address of one credential of the service.
  package static func ofService(at address: Int64) -> ClosedRange<Int64> {
    let mask: Int64 = 1 << (keyTagBits + choiceBits) - 1
    return (address & ~mask)...(address | mask)
  }

  private static func first(of service: Tag) -> Int64 {
    number(of: service, bytes: 3) << (keyTagBits + choiceBits)
  }

  /// Returns the first bytes of a tag as a big-endian number.
  @inline(__always)
  private static func number(of tag: Tag, bytes count: Int) -> Int64 {
    var number: Int64 = 0
    for index in 0..<count { number = number << 8 | Int64(tag.bytes[index]) }
    return number
  }
}

/// The keyed hash of one row, or the sum of such hashes modulo 2^256.
///
/// A change adds the hash of the new row and subtracts that of the old one. It need not read other
/// rows.
package struct RowSum: Equatable, Sendable {
  private let lowWords: Words128
  private let highWords: Words128

  fileprivate init(low: UInt128, high: UInt128) {
    (lowWords, highWords) = (Words128(low), Words128(high))
  }

  fileprivate var low: UInt128 { lowWords.number }
  fileprivate var high: UInt128 { highWords.number }

  /// The sum of no rows.
  package static let zero = RowSum(low: 0, high: 0)

  package static func += (sum: inout RowSum, hash: RowSum) {
    let (low, carries) = sum.low.addingReportingOverflow(hash.low)
    sum = RowSum(low: low, high: sum.high &+ hash.high &+ (carries ? 1 : 0))
  }

  package static func -= (sum: inout RowSum, hash: RowSum) {
    let (low, borrows) = sum.low.subtractingReportingOverflow(hash.low)
    sum = RowSum(low: low, high: sum.high &- hash.high &- (borrows ? 1 : 0))
  }
}

extension RowSum {
  /// Makes the keyed hash of the bytes that describe a row.
  init(of bytes: Span<UInt8>, under key: SymmetricKey) {
    let hash = InlineArray<32, UInt8> { output in key.hash(bytes, into: &output) }
    let bytes = unsafe hash.span.bytes
    self.init(
      low: UInt128(littleEndian: unsafe bytes.unsafeLoadUnaligned(as: UInt128.self)),
      high: UInt128(
        littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt128.self)))
  }

  /// Reads 32 bytes as a little-endian integer.
  package init(_ reader: inout ByteReader, from bytes: Span<UInt8>) throws(StorageError) {
    self.init(low: try reader.integer(from: bytes), high: try reader.integer(from: bytes))
  }
}

extension WipedBytes {
  /// Appends the sum as 32 bytes, little-endian.
  package mutating func append(_ sum: RowSum) {
    append(littleEndian: sum.low)
    append(littleEndian: sum.high)
  }
}

/// Counts and sums up all rows of a store, to compare them with its header.
package struct RowTally {
  private let keys: StoreKeys?
  private var sum = RowSum.zero
  private var lastAddress = Int64.min
  /// The tags of the rows that were read last and share one set of possible addresses.
  private var neighbours: [RowTag] = []
  private var sequences: [UInt64] = []
  /// The number of rows.
  package private(set) var count: UInt64 = 0

  /// Begins without rows.
  ///
  /// Without the keys, it checks addresses and order, but computes no sum.
  package init(_ keys: StoreKeys?) { self.keys = keys }

  /// Adds a row; returns whether the row is at one of its addresses, so that a lookup finds it.
  ///
  /// If `expectsOrder` is true, it also returns `false` for a row whose address is not above the
  /// previous one.
  ///
  /// - Parameter metadata: at least the last 16 bytes of the sealed metadata.
  /// - Parameter secret: at least the last 16 bytes of the sealed secret.
  /// - Parameter expectsOrder: whether the caller reads the rows in ascending order of addresses.
  package mutating func add(
    _ metadata: Span<UInt8>, _ secret: Span<UInt8>, as identity: RowIdentity, address: Int64,
    expectsOrder: Bool = true
  ) -> Bool {
    if let keys { sum += keys.hash(metadata, secret, as: identity) }
    count += 1
    // The sum does not detect a row at a wrong address, where no lookup finds it.
    let isFound = RowAddresses.of(identity.tag).contains(address)
    guard expectsOrder else { return isFound }
    defer { lastAddress = address }
    return isFound && address > lastAddress
  }

  /// Adds the next row in ascending order of addresses, and checks it.
  ///
  /// Throws `corrupt` if the row is out of order, no lookup finds it, another row has its tags, or
  /// its sequence exceeds the header's.
  package mutating func verify(
    _ metadata: Span<UInt8>, _ secret: Span<UInt8>, as identity: RowIdentity, address: Int64,
    in header: Header
  ) throws(StorageError) {
    let previous = lastAddress
    guard add(metadata, secret, as: identity, address: address) else { throw .wrongAddress }
    guard identity.sequence <= header.sequence else { throw .wrongRows }
    // All rows with the same tags have addresses in one group. The group may also contain rows with
    // other tags.
    if !RowAddresses.of(identity.tag).contains(previous) {
      neighbours.removeAll(keepingCapacity: true)
    } else if neighbours.contains(identity.tag) {
      throw .repeatedRow
    }
    neighbours.append(identity.tag)
    sequences.append(identity.sequence)
  }

  /// Throws `corrupt` unless the verified rows are exactly those that the header counts.
  package mutating func conclude(_ header: Header) throws(StorageError) {
    guard matches(header) else { throw .wrongRows }
    sequences.sort()
    for (sequence, next) in zip(sequences, sequences.dropFirst()) where sequence == next {
      throw .repeatedRow
    }
  }

  /// Returns whether the sum and the number of the added rows are equal to those in the header.
  package func matches(_ header: Header) -> Bool { sum == header.sum && count == header.count }
}
