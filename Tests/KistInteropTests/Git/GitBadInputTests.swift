import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `What git's helper refuses` {
  @Test(
    arguments: ["get", "store", "erase"],
    [
      BadInput("cut off within a key", "protocol=https\nhos", "a line from git is not key=value"),
      BadInput("without a key", "=https\nhost=h\n", "a line from git is not key=value"),
      BadInput("not lines at all", "{\"v\":1}\n", "a line from git is not key=value"),
      BadInput("a CR", "protocol=https\r\nhost=h\r\n", "git sent a CR or a NUL byte"),
      BadInput("a NUL", "protocol=https\nhost=h\0i\n", "git sent a CR or a NUL byte"),
      BadInput(
        "a password with a NUL", "protocol=https\nhost=h\nusername=u\npassword=a\0b\n",
        "git sent a CR or a NUL byte"),
      BadInput(
        "not UTF-8", [UInt8]("host=".utf8) + [0xFF, 0xFE], "git sent text that is not UTF-8"),
      BadInput(
        "a line longer than git's", "host=" + String(repeating: "h", count: 65_530),
        "a line from git is 65535 bytes long; the limit is 65534", status: 9),
      BadInput(
        "a host with a path in it", "protocol=https\nhost=h/p\n", "git's host has a slash in it"),
      BadInput(
        "a protocol with more in it", "protocol=oauth_refresh_token:https\nhost=h\n",
        "git's protocol is not the scheme of a URL"),
      BadInput("no protocol", "protocol=\nhost=h\n", "git's protocol is not the scheme of a URL"),
      BadInput(
        "a host longer than a service may be",
        "protocol=https\nhost=\(String(repeating: "h", count: 2000))\nusername=u\npassword=p\n",
        nil, status: 9),
      BadInput(
        "a control character", "protocol=https\nhost=a\u{1B}[2J\nusername=u\npassword=p\n",
        "the service has a control character in it"),
    ])
  func `is answered with a complaint, and nothing is stored`(
    operation: String, bad: BadInput
  ) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let answer = await Call.git(operation, bytes: bad.bytes, complains: "", status: 0)
      .answer(from: storage)
    #expect(answer.output.isEmpty)
    #expect(answer.status == bad.status)
    let complaint = try #require(answer.complaint)
    if let expected = bad.complaint { #expect(complaint.message == expected) }
    #expect(try await storage.findAll().isEmpty)
  }

  @Test(
    arguments: ["get", "store", "erase"],
    [
      StorageError.locked("the storage is locked"),
      StorageError(.unavailable, "no kistd is listening"), .timeout(after: .seconds(60)),
    ])
  func `is reported on standard error if the storage says why`(
    operation: String, error: StorageError
  ) async {
    let input = "protocol=https host=h username=u password=p"
    let answer = await Call.git(operation, input).answer(from: .failing(error))
    #expect(answer.output.isEmpty)
    #expect(answer.complaint?.message == error.message)
    #expect(answer.status == error.code.exitStatus)
  }

  @Test(arguments: ["get", "store", "erase"])
  func `is input of more than a mebibyte, of which nothing is read`(operation: String) async {
    let call = HelperCall(
      arguments: [operation], variable: { _ in nil },
      readInput: { () throws(StorageError) in
        throw .tooLarge("standard input", limit: HelperCall.longestInput, size: 1 << 21)
      },
      now: { .sample })
    let answer = await answerGit(call, .unimplemented)
    #expect(answer.status == StorageError.Code.tooLarge.exitStatus)
    #expect(answer.output.isEmpty)
  }
}
