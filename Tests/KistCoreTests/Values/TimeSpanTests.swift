import KistCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A time span` {
  private static let range: ClosedRange<TimeSpan> = .milliseconds(1)...(.days(36_500))

  private func error(_ text: String, in range: ClosedRange<TimeSpan> = range) -> StorageError? {
    #expect(throws: StorageError.self) { try TimeSpan(text, of: "--x", in: range) }
  }

  @Test(arguments: [
    ("1ms", 1), ("500ms", 500), ("30s", 30_000), ("15min", 900_000), ("12h", 43_200_000),
    ("7d", 604_800_000), ("2w", 1_209_600_000), ("36500d", 3_153_600_000_000), ("007s", 7000),
  ])
  func `is a positive whole number and a unit`(text: String, milliseconds: Int64) throws {
    #expect(try TimeSpan(text, of: "--x", in: Self.range).milliseconds == milliseconds)
  }

  @Test(arguments: [
    "", "0", "0s", "-1s", "+1s", " 1s", "1s ", "1 s", "1.5h", "1e3s", "s", "ms", "1S", "1M", "1mo",
    "1y", "1h30min", "٣s", "36501d", "9223372036854775807w", "99999999999999999999s",
  ])
  func `is refused in any other form, with the units as the hint`(text: String) {
    let error = error(text)
    #expect(error?.code == .badRequest)
    #expect(error?.message == "--x is not a time from 1ms to 36500d")
    #expect(error?.hint == "write a positive whole number and a unit: ms, s, min, h, d or w")
  }

  @Test func `of at least a second is refused without milliseconds in the hint`() {
    let error = #expect(throws: StorageError.self) {
      try TimeSpan("500ms", of: "--x", in: .seconds(1)...(.days(1)))
    }
    #expect(error?.hint == "write a positive whole number and a unit: s, min, h, d or w")
  }

  @Test func `without a unit is refused, with the unit of seconds as the hint`() {
    #expect(error("90")?.message == "--x has no unit")
    #expect(error("90")?.hint == "write 90s for seconds")
  }

  @Test func `in m, which could be minutes or months, is refused with the hint to write min`() {
    #expect(error("5m")?.message == "--x has an ambiguous unit")
    #expect(error("5m")?.hint == "write 5min for minutes")
  }

  @Test func `outside of its range is refused, with the range in its largest units`() {
    let range: ClosedRange<TimeSpan> = .seconds(90)...(.days(14))
    #expect(error("89s", in: range)?.message == "--x is not a time from 90s to 2w")
    #expect(error("15d", in: range)?.message == "--x is not a time from 90s to 2w")
    #expect(throws: Never.self) { try TimeSpan("90s", of: "--x", in: range) }
    #expect(throws: Never.self) { try TimeSpan("2w", of: "--x", in: range) }
  }

  @Test(arguments: [("1s", 1), ("1000ms", 1), ("1001ms", 2), ("1999ms", 2), ("2h", 7200)])
  func `is rounded up to whole seconds`(text: String, seconds: Int64) throws {
    #expect(try TimeSpan(text, of: "--x", in: Self.range).wholeSeconds == seconds)
  }
}
