/// A range of addresses to search for rows, with both ends excluded.
struct AddressRange {
  /// The range of all possible addresses.
  static let whole = AddressRange(
    low: RowAddresses.all.lowerBound - 1, high: RowAddresses.all.upperBound + 1, barren: 0)

  let low: Int64
  let high: Int64
  /// How often the range was halved since a row was last found.
  let barren: Int

  /// After this many halvings without a row, the whole range counts as damaged.
  private static let mostBarren = 8

  func contains(_ address: Int64) -> Bool { low < address && address < high }

  /// Both halves, the second with the middle; empty where the search should stop.
  ///
  /// The rows of one service are side by side, however many. A service that was found is therefore
  /// a range of its own.
  var halves: [AddressRange] {
    guard barren < Self.mostBarren, contains(middle) else { return [] }
    return [
      AddressRange(low: low, high: middle, barren: barren),
      AddressRange(low: middle - 1, high: high, barren: barren),
    ]
  }

  private var middle: Int64 {
    let half = low + (high - low) / 2
    // Without a row at an end, no service is known to split at.
    guard barren == 0 else { return half }
    let ends = [
      RowAddresses(ofServiceAt: low).range.upperBound,
      RowAddresses(ofServiceAt: high).range.lowerBound,
    ]
    return ends.first(where: contains) ?? half
  }
}
