/// The addresses between two, neither included, at which rows are looked for.
struct AddressRange {
  /// All at which a row may be.
  static let whole = AddressRange(
    low: RowAddresses.all.lowerBound - 1, high: RowAddresses.all.upperBound + 1, barren: 0)

  let low: Int64
  let high: Int64
  /// How often it was halved since the last row was found.
  let barren: Int

  /// After so many halvings without a row, what is between is taken for damaged altogether.
  private static let mostBarren = 8

  func contains(_ address: Int64) -> Bool { low < address && address < high }

  /// Both halves, the second with the middle; none where there is no hope left.
  ///
  /// A service that was met has its rows side by side, however many, so it is a range of its own.
  var halves: [AddressRange] {
    guard barren < Self.mostBarren, contains(middle) else { return [] }
    return [
      AddressRange(low: low, high: middle, barren: barren),
      AddressRange(low: middle - 1, high: high, barren: barren),
    ]
  }

  private var middle: Int64 {
    let half = low + (high - low) / 2
    // Without a row at an end, there is no service to be told from the others.
    guard barren == 0 else { return half }
    let ends = [
      RowAddresses(ofServiceAt: low).range.upperBound,
      RowAddresses(ofServiceAt: high).range.lowerBound,
    ]
    return ends.first(where: contains) ?? half
  }
}
