import KistJSON
import Testing

/// What is not JSON, not one object, or over the bounds; each with the offset that is told.
@Suite(.timeLimit(.minutes(5))) struct RefusedTests {
  @Test(arguments: [
    ("", 0), (" ", 1), ("x", 0), ("null", 0), ("1", 0), (#""a""#, 0), ("[]", 0), ("[{}]", 0),
    ("{}{}", 2), ("{} x", 3), ("{},", 2), ("\u{FEFF}{}", 0), ("'{}'", 0), ("// {}\n{}", 0),
  ])
  func `what is not one object is refused`(text: String, offset: Int) {
    expect(text, isRefusedAt: offset)
  }

  @Test(arguments: [
    ("{", 1), (#"{"a""#, 4), (#"{"a":"#, 5), (#"{"a":1"#, 6), (#"{"a":1,"#, 7), (#"{"a":1,}"#, 7),
    ("{,}", 1), ("{a:1}", 1), ("{'a':1}", 1), ("{1:1}", 1), ("{null:1}", 1), (#"{"a" 1}"#, 5),
    (#"{"a"::1}"#, 5), (#"{"a":1 "b":2}"#, 7), (#"{"a":1;"b":2}"#, 6), (#"{"a":}"#, 5),
    (#"{"a":1]"#, 6), (#"{"a":/**/1}"#, 5),
  ])
  func `a broken object is refused`(text: String, offset: Int) {
    expect(text, isRefusedAt: offset)
  }

  @Test(arguments: [
    ("[", 6), ("[1", 7), ("[1,", 8), ("[1,]", 8), ("[,1]", 6), ("[1,,2]", 8), ("[1 2]", 8),
    ("[1}", 7), ("[", 6), ("]", 5),
  ])
  func `a broken array is refused`(array: String, offset: Int) {
    let closing = array.hasSuffix("]") ? "}" : ""
    expect(#"{"a":\#(array)\#(closing)"#, isRefusedAt: offset)
  }

  @Test(arguments: [
    "-", "+1", "01", "-01", ".5", "1.", "1.e5", "1e", "1e+", "1E-", "0x10", "1_000", "--1", "- 1",
    "NaN", "Infinity", "-Infinity", "1.2.3", "1e5.5", "٣", "True", "tru", "truee", "nul", "nulll",
    "FALSE", "undefined", "'a'", "`a`",
  ])
  func `text that is not a value is refused`(value: String) {
    #expect(fault(in: #"{"a":\#(value)}"#) != nil)
    #expect(fault(in: #"{"a":[\#(value)]}"#) != nil)
    #expect(fault(in: #"{"a":\#(value)"#) != nil)
  }

  @Test(arguments: [
    (#"""#, 5), (#""\"#, 6), (#""\""#, 5), (#""\u"#, 8), (#""\u12"#, 8), (#""\x41""#, 6),
    (#""\'""#, 6), (#""\U0041""#, 6), (#""\u00g0""#, 10), (#""\u 041""#, 8), (#""\u+041""#, 8),
    ("\"a\tb\"", 7), ("\"a\nb\"", 7), ("\"a\u{0}b\"", 7), ("\"a\u{1F}b\"", 7),
  ])
  func `a broken string is refused`(string: String, offset: Int) {
    expect(#"{"a":\#(string)"#, isRefusedAt: offset)
    if string.count > 3, string.hasSuffix("\""), !string.hasSuffix("\\\"") {
      expect(#"{"a":\#(string)}"#, isRefusedAt: offset)
    }
  }

  @Test(arguments: [
    #"\ud800"#, #"\uDBFF"#, #"\udc00"#, #"\uDFFF"#, #"\ud800\ud800"#, #"\ud800x"#, #"\ud800\n"#,
    #"\ud800\u0041"#, #"\ude00\ud83d"#, #"\ud800\u"#, #"\ud800\"#,
  ])
  func `lone surrogates are refused`(escape: String) {
    expect(#"{"a":"\#(escape)"}"#, isRefusedAt: nil)
    expect(#"{"\#(escape)":1}"#, isRefusedAt: nil)
  }

  @Test(
    arguments: [
      [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80],
      [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xE2, 0x82, 0x41], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
      [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE],
      [0xFF],
    ] as [[UInt8]])
  func `invalid UTF-8 is refused`(bytes: [UInt8]) {
    let invalid = JSONError.byte(6, "invalid UTF-8")
    #expect(fault(in: Array(#"{"a":""#.utf8) + bytes + Array(#""}"#.utf8)) == invalid)
    #expect(fault(in: Array(#"{"a":""#.utf8) + bytes) == invalid)
    #expect(fault(in: Array(#"{"a":"#.utf8) + bytes + Array("}".utf8)) != nil)
    #expect(fault(in: Array(#"{""#.utf8) + bytes + Array(#"":1}"#.utf8)) != nil)
    #expect(fault(in: Array("{}".utf8) + bytes) == .byte(2, "more than one JSON object"))
  }

  private func expect(_ text: String, isRefusedAt offset: Int?) {
    let fault = fault(in: text)
    guard case .byte(let found, _) = fault else {
      Issue.record("not refused: \(text)")
      return
    }
    if let offset { #expect(found == offset, "\(text): \(fault!)") }
  }
}
