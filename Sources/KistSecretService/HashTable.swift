/// A hash table of the places of an array of hashes.
///
/// It needs 5 to 11 bytes for each hash, because it does not keep the hashes. A hash must be at the
/// end of the array when its place is added.
struct HashTable {
  /// Places, or `.max` where there is none; a power of two of them.
  private var slots: [UInt32] = []
  private var used = 0

  /// Returns the place that was last added for a hash.
  func number(with hash: UInt64, in hashes: [UInt64]) -> UInt32? {
    guard !slots.isEmpty else { return nil }
    let found = slots[slot(of: hash, in: hashes)]
    return found == .max ? nil : found
  }

  /// Adds a place for its hash, and returns the place that it replaces.
  @discardableResult
  mutating func set(_ place: UInt32, in hashes: [UInt64]) -> UInt32? {
    if 4 * (used + 1) > 3 * slots.count { grow(hashes) }
    let slot = slot(of: hashes[Int(place)], in: hashes)
    let replaced = slots[slot]
    slots[slot] = place
    guard replaced == .max else { return replaced }
    used += 1
    return nil
  }

  private func slot(of hash: UInt64, in hashes: [UInt64]) -> Int {
    var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
    while slots[slot] != .max, hashes[Int(slots[slot])] != hash {
      slot = (slot + 1) & (slots.count - 1)
    }
    return slot
  }

  private mutating func grow(_ hashes: [UInt64]) {
    let old = slots
    slots = [UInt32](repeating: .max, count: max(16, 2 * old.count))
    for place in old where place != .max { slots[slot(of: hashes[Int(place)], in: hashes)] = place }
  }
}
