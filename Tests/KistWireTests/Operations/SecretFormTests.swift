import KistCore
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct SecretFormTests {
  @Test(
    arguments: [
      ([], #""secret":"""#), (Array("hunter2".utf8), #""secret":"hunter2""#),
      (Array("é😀\u{7F}".utf8), #""secret":"é😀\u007f""#),
      (Array(#"C:\temp"#.utf8), #""secret":"C:\\temp""#), (Array("\n\n".utf8), #""secret":"\n\n""#),
      // Text, and longer as such than in base64.
      (Array("\n\n\n".utf8), #""secretBase64":"CgoK""#), ([0x01], #""secretBase64":"AQ==""#),
      // Not text.
      ([0x00], #""secretBase64":"AA==""#), (Array("a\u{0}b".utf8), #""secretBase64":"YQBi""#),
      ([0xFF, 0xFE], #""secretBase64":"//4=""#), ([0xC3], #""secretBase64":"ww==""#),
      ([0xED, 0xA0, 0x80], #""secretBase64":"7aCA""#),
    ] as [([UInt8], String)])
  func `a secret is sent as text if it is text that fits into a line`(
    bytes: [UInt8], member: String
  ) async throws {
    let reply = try await load(bytes, "")
    #expect(reply.hasSuffix(#","revision":"sample.1",\#(member)}}"#), "\(reply)")
  }

  @Test(
    arguments: [
      ([], "text", #""secret":"""#), ([0x01], "text", #""secret":"\u0001""#),
      (Array("x".utf8), "base64", #""secretBase64":"eA==""#), ([], "base64", #""secretBase64":"""#),
      ([0xFF], "base64", #""secretBase64":"/w==""#),
    ] as [([UInt8], String, String)])
  func `a client can choose the form`(
    bytes: [UInt8], encoding: String, member: String
  ) async throws {
    let reply = try await load(bytes, #","encoding":"\#(encoding)""#)
    #expect(reply.hasSuffix(#","revision":"sample.1",\#(member)}}"#), "\(reply)")
  }

  @Test(arguments: [[0xFF], [0x61, 0x00]] as [[UInt8]])
  func `a secret that is not text cannot be loaded as text`(bytes: [UInt8]) async throws {
    let reply = try await load(bytes, #","encoding":"text""#)
    #expect(
      reply == #"{"ok":false,"error":{"code":"badRequest","message":"the secret is not text","#
        + #""hint":"ask for it with `\"encoding\":\"base64\"`"}}"#)
  }

  @Test func `both forms of a save are the same bytes`() async throws {
    let storage = UserStorage.inMemory()
    let answer = answer(with: service(storage))
    for secret in [#""secret":"a\u0000\ud83d\ude00""#, #""secretBase64":"YQDwn5iA""#] {
      let reply = await answer(Line(#"{"op":"save","service":"s",\#(secret)}"#)).text
      #expect(reply.hasPrefix(#"{"ok":true"#))
      let saved = try await storage.load(CredentialKey(service: "s")).secret
      #expect(saved == Secret(utf8: "a\u{0}😀"))
    }
  }

  private func load(_ bytes: [UInt8], _ members: String) async throws -> String {
    var storage = UserStorage.unimplemented
    let credential = Credential(summary: .sample(), secret: Secret(copying: bytes))
    storage.load = { _ throws(StorageError) in credential }
    return await answer(with: service(storage))(Line(#"{"op":"load","service":"s"\#(members)}"#))
      .text
  }
}
