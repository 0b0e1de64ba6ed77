/// The places between two, neither included, in which rows are looked for.
struct TagRange {
  let low: RowTag
  let high: RowTag
  /// How often it was halved since the last row was found.
  let barren: Int

  /// After so many halvings without a row, what is between is taken for damaged altogether.
  private static let mostBarren = 8

  func contains(_ tag: RowTag) -> Bool { low < tag && tag < high }

  /// Both halves; none where there is no hope left.
  ///
  /// A service that was met has its rows side by side, however many, so it is a range of its own.
  var halves: [TagRange] {
    guard barren < Self.mostBarren, let middle, contains(middle) else { return [] }
    return [
      TagRange(low: low, high: middle, barren: barren),
      TagRange(low: middle, high: high, barren: barren),
    ]
  }

  private var middle: RowTag? {
    if low.service == high.service {
      return RowTag(service: low.service, key: .between(low.key, high.key))
    }
    if low.key != .zero, low.key != .greatest {
      return RowTag(service: low.service, key: .greatest)
    }
    if high.key != .zero, high.key != .greatest { return RowTag(service: high.service, key: .zero) }
    return RowTag(service: .between(low.service, high.service), key: .greatest)
  }
}

extension RowTag {
  static let zero = RowTag(service: .zero, key: .zero)
  static let greatest = RowTag(service: .greatest, key: .greatest)
}

extension Tag {
  /// After all others.
  static let greatest = Tag(number: .max)

  /// As far from one as from the other.
  static func between(_ low: Tag, _ high: Tag) -> Tag {
    Tag(number: low.number + (high.number - low.number) / 2)
  }

  private init(number: UInt128) {
    let bytes = (0..<Tag.size).map { UInt8(truncatingIfNeeded: number >> (8 * (15 - $0))) }
    self.init(bytes.span)!
  }

  private var number: UInt128 {
    bytes.indices.reduce(0) { $0 << 8 | UInt128(bytes[$1]) }
  }
}
