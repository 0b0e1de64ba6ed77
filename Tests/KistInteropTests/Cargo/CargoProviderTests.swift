import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Cargo's credential provider` {
  private let clock = ManualClock()
  private let storage: UserStorage

  init() { storage = .inMemory(now: clock.now) }

  @Test func `keeps a token for a registry's index, and gives it for every known operation`()
    async throws
  {
    #expect(await reply(#""kind":"login","token":"t","name":"x""#) == #"{"Ok":{"kind":"login"}}"#)
    for operation in ["read", "publish", "yank", "unyank", "owners"] {
      #expect(
        await reply(#""kind":"get","operation":"\#(operation)","name":"n","vers":"1","cksum":"c""#)
          == #"{"Ok":{"kind":"get","token":"t","cache":"session","operation_independent":true}}"#)
    }
    #expect(await reply(get, index: "sparse+https://other/") == notFound)
    let saved = try #require(try await storage.findAll().first)
    #expect(saved.key == CredentialKey(service: "cargo:sparse+https://i/"))
    #expect(saved.attributes == ["tool": "cargo"])
  }

  @Test func `a token that expires says when, and is not found after that`() async throws {
    let key = CredentialKey(service: "cargo:sparse+https://i/")
    try await storage.save(
      .sample(key, secret: "t", expiresAt: clock.now().advanced(bySeconds: 60)))
    #expect(
      await reply(get)
        == #"{"Ok":{"kind":"get","token":"t","cache":"expires","expiration":1795168860,"operation_independent":true}}"#
    )
    clock.advance(bySeconds: 60)
    #expect(await reply(get) == notFound)
  }

  @Test func `a second logout finds nothing`() async {
    _ = await reply(#""kind":"login","token":"t""#)
    #expect(await reply(#""kind":"logout""#) == #"{"Ok":{"kind":"logout"}}"#)
    #expect(await reply(#""kind":"logout""#) == notFound)
    #expect(await reply(get) == notFound)
  }

  @Test(arguments: [
    (#""login-url":"https://i/me""#, "Token, from https://i/me: "),
    (#""login-url":"https://i/\u001b[2J""#, "Token: "),
    (#""login-url":"https://i/\u202e""#, "Token: "), (#""args":[]"#, "Token: "),
  ])
  func `asks for a token that is not sent, and shows nothing that a terminal obeys`(
    member: String, question: String
  ) async throws {
    var asked: [String] = []
    let line = Secret(
      utf8: #"{"v":1,"registry":{"index-url":"sparse+https://i/"},"kind":"login",\#(member)}"#)
    let answer = await answerCargo(line, storage, now: clock.now()) { question in
      asked.append(question)
      return Secret(utf8: "typed")
    }
    #expect(answer.text == #"{"Ok":{"kind":"login"}}"# + "\n")
    #expect(asked == [question])
    #expect(
      try await storage.load(CredentialKey(service: "cargo:sparse+https://i/")).secret.text
        == "typed")
  }

  @Test(arguments: [
    #""kind":"get","operation":"bless""#, #""kind":"bless""#,
  ])
  func `what a newer cargo asks is not supported`(members: String) async {
    #expect(await reply(members) == #"{"Err":{"kind":"operation-not-supported"}}"#)
  }

  @Test(arguments: [
    ("{\"v\":1", "an object is not closed at byte 6"), ("hello", "not a JSON object at byte 0"),
    (#"{"v":2,"registry":{"index-url":"i"},"kind":"logout"}"#, "`v` must be 1"),
    (#"{"registry":{"index-url":"i"},"kind":"logout"}"#, "`v` is missing"),
    (#"{"v":"1","registry":{"index-url":"i"},"kind":"logout"}"#, "`v` must be an integer"),
    (#"{"v":1,"registry":"i","kind":"logout"}"#, "`registry` must be an object"),
    (#"{"v":1,"registry":{},"kind":"logout"}"#, "`index-url` is missing"),
    (#"{"v":1,"registry":{"index-url":7},"kind":"logout"}"#, "`index-url` must be a string"),
    (#"{"v":1,"registry":{"index-url":"i"}}"#, "`kind` is missing"),
    (#"{"v":1,"registry":{"index-url":"i"},"kind":"get"}"#, "`operation` is missing"),
    (#"{"v":1,"registry":{"index-url":"i"},"kind":"login","token":1}"#, "`token` must be a string"),
  ])
  func `a line that is not right is an error that cargo shows`(line: String, problem: String) async
  {
    let answer = await answer(Secret(utf8: line), storage)
    #expect(
      answer
        == #"{"Err":{"kind":"other","message":"the input is not valid: \#(problem)"}}"#)
  }

  @Test(arguments: [
    (#""kind":"login","token":"""#, "the token is empty; nothing was saved"),
    (
      #""kind":"login","token":"\#(String(repeating: "t", count: 600_000))""#,
      "the secret is 600000 bytes long; the limit is 524288"
    ),
  ])
  func `a token that can be none is not saved`(members: String, message: String) async throws {
    #expect(await reply(members) == #"{"Err":{"kind":"other","message":"\#(message)"}}"#)
    #expect(try await storage.findAll().isEmpty)
  }

  @Test func `a token that is not text is not given`() async throws {
    let key = CredentialKey(service: "cargo:sparse+https://i/")
    try await storage.save(NewCredential(key: key, secret: Secret(copying: [0xFF])))
    #expect(
      await reply(get).hasPrefix(#"{"Err":{"kind":"other","message":"the credential is not text"#))
  }

  @Test(
    arguments: [
      #""kind":"get","operation":"read""#, #""kind":"login","token":"t""#, #""kind":"logout""#,
    ],
    [
      StorageError.locked("the storage is locked"),
      StorageError(.unavailable, "no kistd is listening", hint: "start it with: kistd"),
    ])
  func `why the storage cannot be asked is an error, and not that there is nothing`(
    members: String, error: StorageError
  ) async {
    let line = #"{"v":1,"registry":{"index-url":"i"},\#(members)}"#
    #expect(
      await answer(Secret(utf8: line), .failing(error))
        == #"{"Err":{"kind":"other","message":"\#(error.message); \#(error.hint!)"}}"#)
  }

  private let get = #""kind":"get","operation":"read""#
  private let notFound = #"{"Err":{"kind":"not-found"}}"#

  private func reply(_ members: String, index: String = "sparse+https://i/") async -> String {
    await answer(
      Secret(utf8: #"{"v":1,"registry":{"index-url":"\#(index)","headers":[]},\#(members)}"#),
      storage)
  }

  /// The reply without its newline, which must be there.
  private func answer(_ line: Secret, _ storage: UserStorage) async -> String {
    let answer = await answerCargo(line, storage, now: clock.now()) { _ throws(StorageError) in
      Issue.record("nothing is to be asked")
      throw .internal("nothing is to be asked")
    }
    #expect(answer.text.hasSuffix("}\n"))
    return String(answer.text.dropLast())
  }
}
