internal import KistCore

/// The time until a credential expires: a number and a unit, from a second to 36,500 days.
struct Lifetime: Equatable {
  static let longest: Int64 = 36_500 * 86_400

  let seconds: Int64

  /// Reads `90s`, `15m`, `12h`, `90d` or `4w`; returns `nil` for anything else.
  init?(_ text: String) {
    let digits = text.dropLast()
    guard
      let unit = text.last.flatMap(Self.seconds(in:)),
      digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits)
    else { return nil }
    let (seconds, overflow) = number.multipliedReportingOverflow(by: unit)
    guard !overflow, (1...Self.longest).contains(seconds) else { return nil }
    self.seconds = seconds
  }

  /// Reads the value of an option; throws if it is not valid.
  init(_ text: String, of option: String) throws(StorageError) {
    guard let lifetime = Lifetime(text) else {
      throw StorageError(
        .badRequest, "\(option) is not a time from 1s to 36500d",
        hint: "write a positive whole number and a unit: s, m, h, d or w")
    }
    self = lifetime
  }

  /// Returns the moment this long after another one.
  func end(from start: Timestamp) -> Timestamp {
    Timestamp(clamping: start.secondsSinceEpoch + seconds)
  }

  private static func seconds(in unit: Character) -> Int64? {
    switch unit {
    case "s": 1
    case "m": 60
    case "h": 3600
    case "d": 86_400
    case "w": 7 * 86_400
    default: nil
    }
  }
}
