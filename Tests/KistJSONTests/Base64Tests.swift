import KistCore
import KistJSON
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct Base64Tests {
  @Test(
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
      ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
  func `the vectors of RFC 4648 §10 hold in both directions`(text: String, base64: String) throws {
    #expect(try value(#""\#(base64)""#).base64() == Secret(utf8: text))
    let written = JSONWriter.object { $0.member("a", base64: Secret(utf8: text)) }
    #expect(written.text == #"{"a":"\#(base64)"}"#)
    #expect(base64Count(of: text.utf8.count) == base64.utf8.count)
  }

  @Test func `a solidus may be escaped`() throws {
    #expect(try value(#""\/\/8=""#).base64() == Secret(copying: [0xFF, 0xFF]))
  }

  @Test(arguments: [
    "Z", "Zg", "Zg=", "Zg===", "=", "==", "====", "Z===", "Zm9vZ", "Zm9vYg", "Zh==", "Zm9=", "Zm9!",
    "Zm 9v", "Zm9v ", " Zm9v", #"Zm9v\n"#, "Zg==Zg==", "Zg==Zm9v", "Z=g=", "=Zg=", "-_-_", "Zm9vé",
    "Zm9vYg=A",
  ])
  func `bad base64 is refused, naming the key`(base64: String) throws {
    let value = try value(#""\#(base64)""#)
    #expect(
      fault { () throws(JSONError) in try value.base64() }
        == .key("a", "is not base64 (RFC 4648 §4, with padding)"))
  }

  @Test(arguments: 1...50 as ClosedRange<UInt64>)
  func `any bytes come back`(seed: UInt64) throws {
    var random = Seeded(seed)
    let secret = Secret(copying: random.bytes(upTo: 1000))
    let written = JSONWriter.object { $0.member("a", base64: secret) }
    #expect(try JSONObject(written).required("a").base64() == secret)
  }
}
