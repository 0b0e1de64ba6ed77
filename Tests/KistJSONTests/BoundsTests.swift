import KistCore
import KistJSON
import Testing

@Suite(.timeLimit(.minutes(5))) struct BoundsTests {
  @Test(arguments: [
    "", "1", #""a""#,
  ])
  func `nesting 17 deep is refused where it begins`(inner: String) {
    let deep = JSONError.byte(20, "nesting deeper than 16 levels")
    #expect(fault(in: #"{"a":\#(nested: "[", "]", 16, around: inner)}"#) == deep)
  }

  @Test(arguments: [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")])
  func `what is nested 100,000 deep is refused without being followed`(
    opening: String, closing: String
  ) {
    for text in [
      #"{"a":\#(nested: opening, closing, 100_000)}"#, #"{"a":\#(nested: opening, "", 100_000)"#,
    ] {
      guard case .byte(let offset, "nesting deeper than 16 levels") = fault(in: text) else {
        Issue.record("not refused")
        continue
      }
      #expect(offset < 200)
    }
  }

  @Test(arguments: [
    #"{"a":1,"a":2}"#, #"{"a":1,"b":2,"a":1}"#, #"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#,
    #"{"\u0061":1,"\u0061":2}"#, #"{"":1,"":2}"#, #"{"é":1,"\u00e9":2}"#,
    #"{"\u00E9":1,"\u00e9":2}"#,
    #"{"😀":1,"\ud83d\ude00":2}"#, #"{"/":1,"\/":2}"#, #"{"b":{"a":1,"a":2}}"#,
    #"{"b":[{"a":1},{"a":1,"c":{},"a":2}]}"#,
  ])
  func `duplicate keys are refused, however they are written`(text: String) {
    guard case .byte(let offset, "a duplicate key") = fault(in: text) else {
      Issue.record("not refused: \(text)")
      return
    }
    #expect(offset > 1)
  }

  @Test(arguments: ["a", #"\u0061"#], [0, 100])
  func `long keys are the same only if they are to their ends`(letter: String, number: Int) {
    let prefix = String(repeating: letter, count: 1_000)
    let different = (0..<128).map { #""\#(prefix)\#($0)":0"# }
    #expect(fault(in: "{\(different.joined(separator: ","))}") == nil)
    let plain = String(repeating: "a", count: 1_000)
    let same = different.dropLast() + [#""\#(plain)\#(number)":0"#]
    guard case .byte(_, "a duplicate key") = fault(in: "{\(same.joined(separator: ","))}") else {
      Issue.record("not refused")
      return
    }
  }

  @Test func `an object of 129 members is refused`() {
    guard case .byte(_, "an object of more than 128 members") = fault(in: "{\(members: 129)}")
    else {
      Issue.record("not refused")
      return
    }
  }

  @Test func `the members before a fault can still be read`() throws {
    let text = #"{"id":7,"b":{"c":1,"d":[1,{"e":"\x"}]},"op":1}"#
    let object = JSONObject(beforeFaultIn: .init(utf8: text))
    #expect(try object.required("id").integer() == 7)
    for name: StaticString in ["b", "c", "d", "e", "op"] { #expect(object[name] == nil) }
  }
}
