/// A time in UTC, to the second, from the year 0000 to 9999.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// The seconds since 1970-01-01T00:00:00Z, without leap seconds.
  public let secondsSinceEpoch: Int64

  /// The range of years that RFC 3339 can express, in seconds.
  package static let bounds: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

  /// Makes a time; `nil` outside the years 0000 to 9999.
  public init?(secondsSinceEpoch: Int64) {
    guard Self.bounds.contains(secondsSinceEpoch) else { return nil }
    self.secondsSinceEpoch = secondsSinceEpoch
  }

  /// Makes a time, moved to the nearest valid one where it is out of range.
  package init(clamping seconds: Int64) {
    secondsSinceEpoch = min(max(seconds, Self.bounds.lowerBound), Self.bounds.upperBound)
  }

  /// Orders by time.
  public static func < (left: Self, right: Self) -> Bool {
    left.secondsSinceEpoch < right.secondsSinceEpoch
  }

  /// Returns a time some seconds later or earlier; `nil` outside the years 0000 to 9999.
  public func advanced(bySeconds seconds: Int64) -> Timestamp? {
    let (sum, overflow) = secondsSinceEpoch.addingReportingOverflow(seconds)
    return overflow ? nil : Timestamp(secondsSinceEpoch: sum)
  }
}
