import KistCore
import KistJSON
import Testing

@Suite(.timeLimit(.minutes(5))) struct WriterTests {
  @Test func `members of every type are written in order`() throws {
    let written = JSONWriter.object { writer in
      writer.member("text", "x")
      writer.member("absent", nil as String?)
      writer.member("number", -7)
      writer.member("none", nil as Int?)
      writer.member("yes", true)
      writer.member("no", false)
      writer.memberNull("null")
      writer.member("empty") { _ in }
      writer.member("inner") { $0.member("a", 1) }
      writer.member("list", arrayOf: ["x", "y"]) { $1.element($0) }
      writer.member("nothing", arrayOf: [] as [String]) { $1.element($0) }
      writer.member("objects", arrayOf: [1, 2]) { number, writer in
        writer.braced { $0.member("n", number) }
      }
      writer.member(escaping: "\"", "\\")
    }
    #expect(
      written.text == #"{"text":"x","number":-7,"yes":true,"no":false,"null":null,"empty":{},"#
        + #""inner":{"a":1},"list":["x","y"],"nothing":[],"objects":[{"n":1},{"n":2}],"\"":"\\"}"#)
  }

  @Test func `only what JSON does not let stand and other controls are escaped`() {
    for byte in UInt8.min...0x7F {
      let escaped = JSONWriter.object { $0.member("a", text: Secret(copying: [byte])) }.text
      let isPlain =
        (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
      #expect((escaped.utf8.count == 9) == isPlain, "\(byte): \(escaped)")
    }
    for control in 0x7F...0x9F as ClosedRange<UInt32> {
      let text = String(Unicode.Scalar(control)!)
      let escaped = "\\u00" + String(control, radix: 16)
      #expect(JSONWriter.object { $0.member("a", "é\(text)x") }.text == "{\"a\":\"é\(escaped)x\"}")
    }
    let plain = "é\u{A0}\u{2028}😀/"
    #expect(JSONWriter.object { $0.member("a", plain) }.text == "{\"a\":\"\(plain)\"}")
  }

  @Test func `members that were written or read are spliced in`() throws {
    var head = 0
    let written = JSONWriter.object { writer in
      writer.member("not wanted", true)
      head = writer.count
      writer.member("b", 1)
    }
    let nothing = JSONWriter.object { $0.member("not wanted", true) }
    let read = try object(#" { "c" : "\u0041" , "id": 2, "d":[ 1, {} ] } "#)
    let whole = JSONWriter.object { writer in
      writer.member("a", 0)
      writer.members(written: written, after: head)
      writer.members(written: nothing, after: head)
      writer.members(read: read, except: ["id", "op"])
      writer.member("id", read["id"])
      writer.member("op", read["op"])
    }
    #expect(whole.text == #"{"a":0,"b":1,"c" : "\u0041","d":[ 1, {} ],"id":2}"#)
  }

  @Test(
    arguments: [
      ([], 0), ([0x61], 1), ([0x22], 2), ([0x5C, 0x0A, 0x09], 6), ([0x01], 6), ([0x7F], 6),
      ([0xC2, 0x80], 6),
      ([0x61, 0xC2, 0x9F], 7), ([0xC2, 0xA0], 2),
      ([0xC3, 0xA9], 2), ([0xF0, 0x9F, 0x98, 0x80, 0x1F], 10), ([0x61, 0x00], nil), ([0xFF], nil),
      ([0xC3], nil), ([0xED, 0xA0, 0x80], nil),
    ] as [([UInt8], Int?)])
  func `the length of a text is known before it is written`(bytes: [UInt8], count: Int?) {
    let secret = Secret(copying: bytes)
    #expect(secret.withBytes(textCount(of:)) == count)
    if let count {
      #expect(JSONWriter.object { $0.member("", text: secret) }.count == count + 7)
    }
  }
  /// Plain bytes are looked at 32 and 8 at once.
  @Test(arguments: ["\"", "\\", "\n", "\u{7F}", "\u{80}", "é", "\u{1F}", " ", "~", "!", "[", "]"])
  func `a character is written alike at any position`(character: String) throws {
    for length in 0...70 {
      for place in 0...length {
        let text =
          String(repeating: "x", count: place) + character
          + String(repeating: "}", count: length - place)
        let written = JSONWriter.object { $0.member("t", text) }
        let alone = JSONWriter.object { $0.member("t", character) }.text.dropFirst(6).dropLast(2)
        #expect(
          written.text == "{\"t\":\"" + String(repeating: "x", count: place) + alone
            + String(repeating: "}", count: length - place) + "\"}")
        #expect(try JSONObject(written)["t"]?.string() == text)
      }
    }
  }
}
