import KistCore
import KistTesting
import KistWire
import Testing

/// Faulty lines of a client, each with the expected error.
///
/// Every line has a canary in it, which must not come back; nothing may reach the storage, of which
/// nothing is implemented.
@Suite(.timeLimit(.minutes(5))) struct BadRequestTests {
  @Test(arguments: BadRequest.table)
  func `a bad request is refused, and the refusal repeats nothing of it`(
    bad: BadRequest
  ) async {
    let reply = await answer(
      with: service(UserStorage.unimplemented.enforcingLimits(now: Timestamp.now)))(Line(bad.line))
    let id = bad.id.map { #""id":\#($0),"# } ?? ""
    let outcome = bad.isUnchanged ? #","outcome":"unchanged""# : ""
    let start =
      #"{"ok":false,\#(id)"error":{"code":"\#(bad.code.rawValue)","message":"\#(bad.message)""#
    #expect(reply.text.hasPrefix(start), "\(reply.text)")
    #expect(reply.text.contains(outcome))
    #expect(reply.text.contains(#""outcome""#) == bad.isUnchanged)
    #expect(!reply.text.contains("canary"))
  }

  @Test func `the connection goes on after a bad request`() async throws {
    let answer = answer(with: service(.inMemory()))
    #expect(await answer(Line(#"{"op":"canary"}"#)).text.hasPrefix(#"{"ok":false"#))
    #expect(await answer(Line(#"{"op":"find"}"#)).text == #"{"ok":true,"credentials":[]}"#)
  }

  @Test func `invalid UTF-8 is refused with its offset`() async {
    let line = Array(#"{"op":"find","service":"canary"#.utf8) + [0xFF] + Array(#""}"#.utf8)
    let reply = await answer(with: service())(Line(Secret(copying: line)))
    #expect(
      reply.text == #"{"ok":false,"error":{"code":"badRequest","#
        + #""message":"invalid UTF-8 at byte 30","outcome":"unchanged"}}"#)
  }

  @Test(arguments: [("[", "]"), (#"{"a":"#, "}")])
  func `a line nested 100,000 deep is refused`(opening: String, closing: String) async {
    let deep =
      String(repeating: opening, count: 100_000) + String(repeating: closing, count: 100_000)
    for line in [deep, #"{"id":1,"op":"find","attributes":\#(deep)}"#] {
      let reply = await answer(with: service())(Line(line)).text
      #expect(reply.contains(#""code":"badRequest""#))
    }
  }

  @Test func `input that is not a line is refused without an id`() {
    #expect(
      Line.refusal(.tooLarge("the line", limit: 10, size: 11)).text
        == #"{"ok":false,"error":{"code":"tooLarge","message":"#
        + #""the line is 11 bytes long; the limit is 10","outcome":"unchanged"}}"#)
  }
}
