internal import KistCore

/// How long a credential is handed out: a number and a unit, from a second to 36,500 days.
struct Lifetime: Equatable {
  static let longest: Int64 = 36_500 * 86_400

  let seconds: Int64

  /// Reads `90s`, `15m`, `12h`, `90d` or `4w`; `nil` for anything else.
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
