import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `What docker's helper refuses` {
  @Test(arguments: [
    BadInput("cut off", #"{"ServerURL":"r","User"#, "a string is not closed at byte 17"),
    BadInput("nothing", "", "not a JSON object at byte 0"),
    BadInput("another JSON", "[]", "not a JSON object at byte 0"),
    BadInput(
      "a number for a user", #"{"ServerURL":"r","Username":1,"Secret":"p"}"#,
      "`Username` must be a string"),
    BadInput("no secret", #"{"ServerURL":"r","Username":"u"}"#, "`Secret` is missing"),
    BadInput(
      "two secrets", #"{"ServerURL":"r","Username":"u","Secret":"p","Secret":"q"}"#,
      "a duplicate key at byte 45"),
    BadInput("not UTF-8", [UInt8]("{\"".utf8) + [0xFF], "invalid UTF-8 at byte 2"),
  ])
  func `as not right`(_ bad: BadInput) async throws {
    let answer = await answer("store", bad.bytes, .unimplemented)
    #expect(answer.output.text == "the input is not valid: \(try #require(bad.complaint))\n")
    #expect(answer.status == 1)
    #expect(answer.complaint == nil)
  }

  @Test(arguments: [
    ("store", #"{"Username":"u","Secret":"p"}"#, "no credentials server URL"),
    ("store", #"{"ServerURL":"","Username":"u","Secret":"p"}"#, "no credentials server URL"),
    ("store", #"{"ServerURL":"r","Username":"","Secret":"p"}"#, "no credentials username"),
    ("store", #"{"ServerURL":"r","Secret":"p"}"#, "no credentials username"),
    ("get", "", "no credentials server URL"), ("get", " \n", "no credentials server URL"),
    ("erase", "", "no credentials server URL"),
    ("improve", "r", "docker-credential-kist: there is no such action"),
  ])
  func `in docker's own words`(action: String, input: String, message: String) async {
    let answer = await answer(action, Secret(utf8: input), .unimplemented)
    #expect(answer.output.text == message + "\n")
    #expect(answer.status == 1)
  }

  @Test(
    arguments: ["get", "erase"],
    [
      (Array("r\0".utf8), "the service has a control character in it"),
      ([0xFF, 0xFE], "the input is not UTF-8"),
      (
        Array(repeating: UInt8(ascii: "r"), count: 2000),
        "the service is 2000 bytes long; the limit is 1024"
      ),
    ])
  func `a URL that can be none`(action: String, bad: (bytes: [UInt8], message: String)) async {
    let answer = await answer(action, Secret(copying: bad.bytes), .inMemory(now: { .sample }))
    #expect(answer.output.text == bad.message + "\n")
    #expect(answer.status == 1)
  }

  @Test(arguments: [[], ["get", "r"]])
  func `any number of words but one`(arguments: [String]) async {
    let call = Call(helper: answerDocker, arguments: arguments, input: Secret(utf8: ""))
    let answer = await call.answer(from: .unimplemented)
    #expect(answer.output.text.hasPrefix("Usage: "))
    #expect(answer.status == 1)
  }

  @Test(
    arguments: ["store", "get", "erase", "list"],
    [
      StorageError.locked("the storage is locked"),
      StorageError(.unavailable, "no kistd is listening", hint: "start it with: kistd"),
    ])
  func `says why the storage cannot be asked, and not that there is nothing`(
    action: String, error: StorageError
  ) async {
    let input = #"{"ServerURL":"r","Username":"u","Secret":"p"}"#
    let answer = await answer(action, Secret(utf8: input), .failing(error))
    #expect(answer.output.text == "\(error.message); \(error.hint!)\n")
    #expect(answer.status == 1)
  }

  private func answer(_ action: String, _ input: Secret, _ storage: UserStorage) async
    -> HelperAnswer
  {
    await Call(helper: answerDocker, arguments: [action], input: input).answer(from: storage)
  }
}
