/// A length of time, as the options and variables of the programs take it, such as `30s` or `7d`.
///
/// A type of its own, because a `package` extension of `Duration` breaks clean builds: the interface
/// of this module would then need C's `timespec`.
package struct TimeSpan: Hashable, Comparable, Sendable {
  /// The length in milliseconds.
  package let milliseconds: Int64

  private static let units: [(name: String, milliseconds: Int64)] = [
    ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000),
    ("ms", 1),
  ]

  private init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Makes a span of some milliseconds.
  package static func milliseconds(_ number: Int64) -> TimeSpan { TimeSpan(milliseconds: number) }

  /// Makes a span of some seconds.
  package static func seconds(_ number: Int64) -> TimeSpan { TimeSpan(milliseconds: number * 1000) }

  /// Makes a span of some days of 24 hours.
  package static func days(_ number: Int64) -> TimeSpan { .seconds(number * 86_400) }

  /// Reads the value of an option or a variable; throws `badRequest`, with the name of its source.
  package init(
    _ text: String, of source: String, in range: ClosedRange<TimeSpan>
  ) throws(StorageError) {
    let digits = text.prefix { ("0"..."9").contains($0) }
    let unit = String(text.dropFirst(digits.count))
    if let number = Int64(digits), number > 0 {
      if unit.isEmpty {
        throw .badRequest("\(source) has no unit", hint: "write \(number)s for seconds")
      }
      // Programs disagree on whether it means minutes or months.
      if unit == "m" {
        throw .badRequest("\(source) has an ambiguous unit", hint: "write \(number)min for minutes")
      }
      if let size = Self.units.first(where: { $0.name == unit })?.milliseconds,
        case (let total, false) = number.multipliedReportingOverflow(by: size),
        range.contains(.milliseconds(total))
      {
        self.init(milliseconds: total)
        return
      }
    }
    throw .badRequest(
      "\(source) is not a time from \(range.lowerBound) to \(range.upperBound)",
      hint: "write a positive whole number and a unit: "
        + (range.lowerBound < .seconds(1) ? "ms, " : "") + "s, min, h, d or w")
  }

  /// The length in seconds, rounded up.
  package var wholeSeconds: Int64 { milliseconds / 1000 + (milliseconds % 1000 > 0 ? 1 : 0) }

  /// Orders by length.
  package static func < (left: Self, right: Self) -> Bool {
    left.milliseconds < right.milliseconds
  }
}

extension TimeSpan: CustomStringConvertible {
  /// The number and the largest unit that needs no fraction, such as `90min`; `0s` for no time.
  package var description: String {
    if milliseconds == 0 { return "0s" }
    let unit = Self.units.first { milliseconds % $0.milliseconds == 0 } ?? ("ms", 1)
    return "\(milliseconds / unit.milliseconds)\(unit.name)"
  }
}
