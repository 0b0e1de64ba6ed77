extension Timestamp: CustomStringConvertible {
  /// Parses a date and time with any offset (RFC 3339 §5.6); `nil` for anything else.
  ///
  /// A fraction of a second is dropped. A leap second (`:60`) becomes the following second.
  public init?(rfc3339 text: String) {
    var reader = DigitReader(text)
    guard
      let year = reader.number(digits: 4), reader.skip("-"),
      let month = reader.number(digits: 2, in: 1...12), reader.skip("-"),
      let day = reader.number(digits: 2, in: 1...31), reader.skip("T", "t", " "),
      let hour = reader.number(digits: 2, in: 0...23), reader.skip(":"),
      let minute = reader.number(digits: 2, in: 0...59), reader.skip(":"),
      let second = reader.number(digits: 2, in: 0...60), reader.skipFraction(),
      let offset = reader.offsetInSeconds(), reader.isAtEnd
    else { return nil }
    let days = daysSinceEpoch(year: year, month: month, day: day)
    // If the month does not have this day, `days` is a day of the next month.
    guard civilDate(daysSinceEpoch: days).day == day else { return nil }
    self.init(
      secondsSinceEpoch: days * 86_400 + hour * 3600 + minute * 60 + second - offset)
  }

  /// The time as `YYYY-MM-DDTHH:MM:SSZ`.
  public var description: String {
    let text = rfc3339
    return String(repairing: text.span)
  }

  /// The time as `YYYY-MM-DDTHH:MM:SSZ`, in ASCII.
  ///
  /// It is written digit by digit, because every reply has two times, and interpolation is slow.
  package var rfc3339: InlineArray<20, UInt8> {
    let days = secondsSinceEpoch.floorDivided(by: 86_400)
    let time = secondsSinceEpoch - days * 86_400
    let (year, month, day) = civilDate(daysSinceEpoch: days)
    var text = InlineArray<20, UInt8>(repeating: UInt8(ascii: "Z"))
    text.put(twoDigits: year / 100, at: 0)
    text.put(twoDigits: year % 100, then: "-", at: 2)
    text.put(twoDigits: month, then: "-", at: 5)
    text.put(twoDigits: day, then: "T", at: 8)
    text.put(twoDigits: time / 3600, then: ":", at: 11)
    text.put(twoDigits: time / 60 % 60, then: ":", at: 14)
    text.put(twoDigits: time % 60, then: "Z", at: 17)
    return text
  }
}

extension InlineArray where Element == UInt8 {
  fileprivate mutating func put(
    twoDigits number: Int64, then mark: Unicode.Scalar? = nil, at offset: Int
  ) {
    self[offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10)
    self[offset + 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10)
    if let mark { self[offset + 2] = UInt8(ascii: mark) }
  }
}

private struct DigitReader {
  // An array is read several times faster than a part of a string.
  private var rest: ArraySlice<UInt8>

  init(_ text: String) { rest = Array(text.utf8)[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func number(digits: Int, in range: ClosedRange<Int64> = 0...9999) -> Int64? {
    var value: Int64 = 0
    for _ in 0..<digits {
      guard let byte = rest.first, (0x30...0x39).contains(byte) else { return nil }
      value = value * 10 + Int64(byte - 0x30)
      rest.removeFirst()
    }
    return range.contains(value) ? value : nil
  }

  mutating func skip(_ characters: Unicode.Scalar...) -> Bool {
    guard let byte = rest.first, characters.contains(Unicode.Scalar(byte)) else { return false }
    rest.removeFirst()
    return true
  }

  mutating func skipFraction() -> Bool {
    guard skip(".") else { return true }
    guard number(digits: 1) != nil else { return false }
    while number(digits: 1) != nil {}
    return true
  }

  mutating func offsetInSeconds() -> Int64? {
    if skip("Z", "z") { return 0 }
    let isBehind = rest.first == UInt8(ascii: "-")
    guard
      skip("+", "-"), let hours = number(digits: 2, in: 0...23), skip(":"),
      let minutes = number(digits: 2, in: 0...59)
    else { return nil }
    return (isBehind ? -1 : 1) * (hours * 3600 + minutes * 60)
  }
}

// The proleptic Gregorian calendar, in eras of 400 years. Each year begins on 1 March, so that the
// leap day is its last day.

private let daysPerEra: Int64 = 146_097
private let daysFromEraToEpoch: Int64 = 719_468

private func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
  let year = month <= 2 ? year - 1 : year
  let era = year.floorDivided(by: 400)
  let yearOfEra = year - era * 400
  let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
  let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
  return era * daysPerEra + dayOfEra - daysFromEraToEpoch
}

private func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
  let days = daysSinceEpoch + daysFromEraToEpoch
  let era = days.floorDivided(by: daysPerEra)
  let dayOfEra = days - era * daysPerEra
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let monthFromMarch = (5 * dayOfYear + 2) / 153
  let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
}

extension Int64 {
  fileprivate func floorDivided(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
