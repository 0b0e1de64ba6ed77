internal import KistSodium

/// Nonces for one transaction, taken from the system in one call, not in one for each.
///
/// None is kept for the next one: two that go on from the same memory, as a virtual machine does that
/// is restored twice, would share it.
struct Nonces {
  private let bytes: [UInt8]
  private var used = 0

  /// Divides bytes that were taken.
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func next() -> [UInt8] {
    defer { used += SymmetricKey.nonceSize }
    return Array(bytes[used..<used + SymmetricKey.nonceSize])
  }
}
