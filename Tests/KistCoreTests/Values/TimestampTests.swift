import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct TimestampTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59Z", -1),
      ("2000-02-29T12:00:00Z", 951_825_600),
      ("2026-11-20T10:00:00Z", 1_795_168_800), ("2038-01-19T03:14:08Z", 2_147_483_648),
      ("1900-03-01T00:00:00Z", -2_203_891_200), ("2100-02-28T23:59:59Z", 4_107_542_399),
      ("1582-10-15T00:00:00Z", -12_219_292_800), ("0001-01-01T00:00:00Z", -62_135_596_800),
      ("0000-01-01T00:00:00Z", -62_167_219_200), ("0000-02-29T00:00:00Z", -62_162_121_600),
      ("9999-12-31T23:59:59Z", 253_402_300_799),
    ] as [(String, Int64)])
  func `a moment is read and written`(text: String, seconds: Int64) throws {
    #expect(Timestamp(rfc3339: text)?.secondsSinceEpoch == seconds)
    #expect(try #require(Timestamp(secondsSinceEpoch: seconds)).description == text)
  }

  @Test(arguments: [
    ("2026-11-20t10:00:00z", "2026-11-20T10:00:00Z"),
    ("2026-11-20 10:00:00Z", "2026-11-20T10:00:00Z"),
    ("2026-11-20T10:00:00+00:00", "2026-11-20T10:00:00Z"),
    ("2026-11-20T10:00:00-00:00", "2026-11-20T10:00:00Z"),
    ("2026-11-20T10:00:00+01:00", "2026-11-20T09:00:00Z"),
    ("2026-11-20T10:00:00-05:30", "2026-11-20T15:30:00Z"),
    ("2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00Z"),
    ("2024-03-01T00:00:00+23:59", "2024-02-29T00:01:00Z"),
    ("2026-11-20T10:00:00.9Z", "2026-11-20T10:00:00Z"),
    ("2026-11-20T10:00:00.123456789012345678901234567890Z", "2026-11-20T10:00:00Z"),
    ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59Z"),
    // The leap second of 1990, in UTC and in Pacific time (RFC 3339 §5.8).
    ("1990-12-31T23:59:60Z", "1991-01-01T00:00:00Z"),
    ("1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00Z"),
    ("0000-01-01T01:00:00+01:00", "0000-01-01T00:00:00Z"),
  ])
  func `offsets, fractions and leap seconds are understood`(text: String, utc: String) {
    #expect(Timestamp(rfc3339: text)?.description == utc)
  }

  @Test(arguments: [
    "", "now", "2026", "2026-11-20", "10:00:00Z", "2026-11-20T10:00Z", "2026-11-20T10:00:00",
    "2026-11-20T10:00:00 Z", " 2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z ",
    "2026-11-20T10:00:00Z\0",
    "2026-11-20T10:00:00,5Z", "2026-11-20T10:00:00.Z", "2026-11-20T10:00:00+1:00",
    "2026-11-20T10:00:00+0100", "2026-11-20T10:00:00+01", "2026-11-20T10:00:00+24:00",
    "2026-11-20T10:00:00+00:60", "2026-11-20T24:00:00Z", "2026-11-20T10:60:00Z",
    "2026-11-20T10:00:61Z", "2026-00-20T10:00:00Z", "2026-13-20T10:00:00Z", "2026-11-00T10:00:00Z",
    "2026-11-31T10:00:00Z", "2026-02-29T10:00:00Z", "1900-02-29T10:00:00Z", "2024-02-30T10:00:00Z",
    "26-11-20T10:00:00Z", "12026-11-20T10:00:00Z", "+2026-11-20T10:00:00Z", "-001-11-20T10:00:00Z",
    "20261120T100000Z", "2026-11-20T١٠:00:00Z", "2026-1A-20T10:00:00Z",
    "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:60Z", "9999-12-31T23:59:59-00:01",
  ])
  func `anything else is refused`(text: String) {
    #expect(Timestamp(rfc3339: text) == nil)
  }

  @Test func `the days of 400 years follow each other without a gap`() throws {
    var previous = try #require(Timestamp(rfc3339: "1999-12-31T00:00:00Z"))
    var days = 0
    for year in 2000..<2400 {
      for month in 101...112 {
        for day in 101...131 {
          let date = "\(year)-\(String(month).dropFirst())-\(String(day).dropFirst())"
          guard let next = Timestamp(rfc3339: date + "T00:00:00Z") else { continue }
          if previous.advanced(bySeconds: 86_400) != next { Issue.record("a gap before \(date)") }
          previous = next
          days += 1
        }
      }
    }
    #expect(days == 146_097)
  }

  @Test func `a written moment is read back`() throws {
    var generator = Seeded(3339)
    for _ in 0..<2000 {
      let seconds = Int64.random(in: Timestamp.bounds, using: &generator)
      let moment = try #require(Timestamp(secondsSinceEpoch: seconds))
      #expect(Timestamp(rfc3339: moment.description) == moment)
      #expect(moment.description.utf8.count == 20)
    }
  }

  @Test func `moments keep within the years 0000 to 9999`() throws {
    let first = Timestamp.bounds.lowerBound
    let last = Timestamp.bounds.upperBound
    #expect(Timestamp(secondsSinceEpoch: first - 1) == nil)
    #expect(Timestamp(secondsSinceEpoch: last + 1) == nil)
    #expect(Timestamp(clamping: .min).secondsSinceEpoch == first)
    #expect(Timestamp(clamping: .max).secondsSinceEpoch == last)
    let moment = try #require(Timestamp(secondsSinceEpoch: last))
    #expect(moment.advanced(bySeconds: 1) == nil)
    #expect(moment.advanced(bySeconds: .max) == nil)
    #expect(moment.advanced(bySeconds: .min) == nil)
    #expect(moment.advanced(bySeconds: first - last)?.secondsSinceEpoch == first)
  }

  @Test func `the present is after this was written, and before the year 9999`() throws {
    let written = try #require(Timestamp(rfc3339: "2025-01-01T00:00:00Z"))
    #expect(Timestamp.now() > written)
    #expect(Timestamp.now().secondsSinceEpoch < Timestamp.bounds.upperBound)
  }
}
