import KistCore
import KistJSON
import Testing

@Suite(.timeLimit(.minutes(5))) struct ValueTests {
  @Test(arguments: [
    (#""""#, ""), (#""a""#, "a"), (#""é😀""#, "é😀"), (#""\u00e9\ud83d\uDE00""#, "é😀"),
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""a\u0000b""#, "a\u{0}b"),
    (#""\\u0041""#, #"\u0041"#), (#""\u005cn""#, #"\n"#),
  ])
  func `a string is its text, as text and as a secret`(json: String, text: String) throws {
    #expect(try value(json).string().utf8.elementsEqual(text.utf8))
    #expect(try value(json).secret() == Secret(utf8: text))
  }

  @Test(arguments: [
    ("0", 0), ("-0", 0), ("7", 7), ("-42", -42), ("9007199254740991", 9_007_199_254_740_991),
    ("-9007199254740991", -9_007_199_254_740_991),
  ])
  func `an integer is read up to 2^53−1`(json: String, integer: Int) throws {
    #expect(try value(json).integer() == integer)
  }

  @Test(arguments: [
    "9007199254740992", "-9007199254740992", "99999999999999999999999999", "1.0", "1e3", "0.5",
    "1E0",
  ])
  func `a number that is not an integer within ±(2^53−1) is refused`(json: String) throws {
    let number = try value(json)
    #expect(fault { () throws(JSONError) in try number.integer() } != nil)
  }

  @Test(arguments: ["null", "true", "1", #""x""#, "{}", "[]"])
  func `a value of another type is refused, naming its key`(json: String) throws {
    let value = try value(json)
    let readings: [(String, () throws(JSONError) -> Void, String)] = [
      (#""x""#, { () throws(JSONError) in _ = try value.string() }, "must be a string"),
      (#""x""#, { () throws(JSONError) in _ = try value.secret() }, "must be a string"),
      ("1", { () throws(JSONError) in _ = try value.integer() }, "must be an integer"),
      ("true", { () throws(JSONError) in _ = try value.bool() }, "must be true or false"),
      ("{}", { () throws(JSONError) in _ = try value.object() }, "must be an object"),
      ("[]", { () throws(JSONError) in _ = try value.elements() }, "must be an array"),
    ]
    for (right, read, problem) in readings {
      #expect(fault(read) == (json == right ? nil : .key("a", problem)))
    }
    #expect(value.isNull == (json == "null"))
  }

  @Test func `members of a nested object and of elements are read`() throws {
    let object = try object(#"{"a":{"b":[{"c":"x"},{"c":"y"}],"c":"z"},"c":0}"#)
    let inner = try object.required("a").object()
    #expect(try inner.required("c").string() == "z")
    let texts = try inner.required("b").elements().map { try $0.object().required("c").string() }
    #expect(texts == ["x", "y"])
  }

  @Test func `an object of strings gives names and values`() throws {
    let strings = try value(#"{"x":"1","\u0079":"\n"}"#).strings()
    #expect(strings.map(\.name) == ["x", "y"])
    #expect(strings.map(\.value) == ["1", "\n"])
    for other in [#"{"canary":1}"#, #"{"canary":null}"#, #"{"canary":{}}"#] {
      let value = try value(other)
      #expect(
        fault { () throws(JSONError) in try value.strings() }
          == .key("a", "must have strings only"))
    }
  }

  @Test func `a key is found by its text, and one that is missing is named`() throws {
    let object = try object(#"{"\u0061":1,"aa":2,"":3,"A":4}"#)
    #expect(try object.required("a").integer() == 1)
    #expect(try object.required("aa").integer() == 2)
    #expect(object["b"] == nil)
    #expect(fault { () throws(JSONError) in try object.required("b") } == .key("b", "is missing"))
  }

  @Test func `an unknown key is refused by its offset`() throws {
    let object = try object(#"{"a":1,"canary":2}"#)
    let refusal = fault { () throws(JSONError) in try object.refuseKeys(except: ["a", "b"]) }
    #expect(refusal == .byte(7, "an unknown key"))
    #expect(
      fault { () throws(JSONError) in try object.refuseKeys(except: ["canary", "a"]) } == nil)
  }
}
