internal import KistSodium

/// The nonces of one transaction, taken from the system in one call.
///
/// No nonce is kept for the next transaction. Two copies of the same memory, as of a virtual
/// machine restored twice, would use it twice.
struct Nonces {
  private let bytes: [UInt8]
  private var used = 0

  /// Makes nonces from random bytes.
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func next() -> [UInt8] {
    defer { used += SymmetricKey.nonceSize }
    return Array(bytes[used..<used + SymmetricKey.nonceSize])
  }
}
