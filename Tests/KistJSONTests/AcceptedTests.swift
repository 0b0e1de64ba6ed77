import KistJSON
import Testing

/// What RFC 8259 allows and the bounds let through.
@Suite(.timeLimit(.minutes(5))) struct AcceptedTests {
  @Test(arguments: [
    "{}", " \t\r\n{ \t\r\n} \t\r\n", #"{"":""}"#, #"{"a":1,"b":2}"#, #"{ "a" : 1 , "b" : 2 }"#,
    #"{"a":[]}"#, #"{"a":[ ]}"#, #"{"a":[1,"b",null,true,false,{},[]]}"#,
    #"{"a":{"a":{"a":1}}}"#, #"{"a":{"b":1},"c":{"b":1}}"#, #"{"a":"\u0000"}"#,
    #"{"a":"\ud83d\ude00 \uD83D\uDE00"}"#, #"{"a":"\"\\\/\b\f\n\r\t\u00e9"}"#,
    #"{"a":"é ‰ 😀 \#u{7F} \#u{85} \#u{2028} \#u{FEFF} \#u{FFFF} \#u{10FFFF}"}"#,
    #"{"\u0061":1,"A":2,"a ":3,"a\u0000":4}"#, #"{"é":1,"e\#u{301}":2}"#,
  ])
  func `a text that is one object is accepted`(text: String) {
    #expect(fault(in: text) == nil)
  }

  @Test(arguments: [
    "0", "-0", "9", "-1", "10", "123456789012345678901234567890", "0.0", "-0.10", "1e5", "1E5",
    "1e+05", "1E-5", "0e0", "12.5e99999",
  ])
  func `a number of RFC 8259 is accepted`(number: String) {
    #expect(fault(in: #"{"a":\#(number)}"#) == nil)
    #expect(fault(in: #"{"a":[\#(number) ,\#(number)]}"#) == nil)
  }

  @Test func `values may be nested 16 deep`() {
    #expect(fault(in: #"{"a":\#(nested: "[", "]", 15)}"#) == nil)
    #expect(fault(in: #"\#(nested: #"{"a":"#, "}", 15, around: "{}")"#) == nil)
  }

  @Test func `an object may have 128 members`() {
    #expect(fault(in: "{\(members: 128)}") == nil)
    #expect(fault(in: #"{"a":{\#(members: 128)},"b":{\#(members: 128)}}"#) == nil)
  }

  @Test func `an array may have any number of elements`() {
    #expect(fault(in: #"{"a":[0\#(String(repeating: ",0", count: 100_000))]}"#) == nil)
  }
}

extension DefaultStringInterpolation {
  /// Something nested in itself.
  mutating func appendInterpolation(
    nested opening: String, _ closing: String, _ count: Int, around inner: String = ""
  ) {
    appendLiteral(String(repeating: opening, count: count) + inner)
    appendLiteral(String(repeating: closing, count: count))
  }

  /// So many different members.
  mutating func appendInterpolation(members count: Int) {
    appendLiteral((0..<count).map { #""\#($0)":null"# }.joined(separator: ","))
  }
}
