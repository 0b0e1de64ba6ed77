import KistCore
import KistJSON
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct RoundTripTests {
  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `what is written is read back`(seed: UInt64) throws {
    var random = Seeded(seed)
    var strings: [String: String] = [:]
    for _ in 0..<Int.random(in: 0...20, using: &random) {
      strings[random.text(upTo: 12)] = random.text(upTo: 60)
    }
    let secret = Secret(utf8: random.text(upTo: 300))
    let bytes = Secret(copying: random.bytes(upTo: 300))
    let number = Int.random(in: -9_007_199_254_740_991...9_007_199_254_740_991, using: &random)
    let object = try JSONObject(
      JSONWriter.object { writer in
        writer.member("strings") { writer in
          for (name, text) in strings { writer.member(escaping: name, text) }
        }
        writer.member("secret", text: secret)
        writer.member("bytes", base64: bytes)
        writer.member("number", number)
      })
    let read = try object.required("strings").strings()
    #expect(Dictionary(uniqueKeysWithValues: read.map { ($0.name, $0.value) }) == strings)
    #expect(try object.required("secret").secret() == secret)
    #expect(try object.required("bytes").base64() == bytes)
    #expect(try object.required("number").integer() == number)
  }

  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `a text with a byte changed is read or refused`(seed: UInt64) throws {
    var random = Seeded(seed)
    let text = #"{"a":{"b":[1.5e3,-0,true,null]},"c\u00e9":"é\ud83d\ude00\n","d":"\\"}"#
    var bytes = Array(text.utf8)
    for _ in 0..<100 {
      bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
        in: 0...255, using: &random)
      guard let object = try? JSONObject(Secret(copying: bytes)) else {
        bytes = Array(text.utf8)
        continue
      }
      // What is read can be written, and is then read again.
      let copy = JSONWriter.object { $0.members(read: object, except: []) }
      #expect(fault(in: copy.bytes) == nil)
    }
  }
}
