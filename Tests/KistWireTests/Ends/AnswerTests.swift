import KistCore
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct AnswerTests {
  @Test(arguments: [
    "0", "-1", "9007199254740991", "-9007199254740991", #""""#, #""é\u00e9\"""#,
    #""\#(String(repeating: "x", count: 128))""#,
    #""\#(String(repeating: "\\u0078", count: 128))""#,
  ])
  func `an id is echoed as it was written`(id: String) async {
    let answer = answer(with: service(.inMemory()))
    #expect(
      await answer(Line(#"{"id":\#(id),"op":"find"}"#)).text
        == #"{"ok":true,"id":\#(id),"credentials":[]}"#)
    #expect(
      await answer(Line(#"{"op":"load","service":"s","id":\#(id)}"#)).text
        .hasPrefix(#"{"ok":false,"id":\#(id),"error":{"code":"notFound""#))
  }

  @Test func `white space and the order of keys do not matter`() async {
    let line = "\t{ \"service\" :\r\"s\" , \"id\" : 1 , \"\\u006fp\" : \"delete\" } \r"
    #expect(
      await answer(with: service(.inMemory()))(Line(line)).text
        == #"{"ok":true,"id":1,"deleted":false}"#)
  }

  @Test func `a reply that does not fit in a line is an error that says so`() async throws {
    let storage = UserStorage.inMemory()
    let secret = Secret(copying: [UInt8](repeating: 0x01, count: Limits.secret))
    try await storage.save(NewCredential(key: .sample, secret: secret))
    let answer = answer(with: service(storage))
    let load = #"{"op":"load","service":"example.org","account":"alice""#
    let reply = await answer(Line(load + #","encoding":"text"}"#)).text
    #expect(reply.hasPrefix(#"{"ok":false,"error":{"code":"tooLarge","message":"the reply is 3"#))
    #expect(await answer(Line(load + "}")).content.count < Limits.line)
  }
}
