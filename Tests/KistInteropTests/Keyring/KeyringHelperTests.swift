import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The keyring command` {
  private static let url = "https://h/simple"

  private static func byHand(_ account: String, attributes: Attributes = [:]) -> NewCredential {
    .sample(
      CredentialKey(service: url, account: account), secret: "p of \(account)",
      attributes: attributes)
  }

  @Test(arguments: [
    Golden(
      "what is set it gets, and deletes",
      .keyring("set s u", input: "p w\r\n"), .keyring("get s u", gives: "p w\n"),
      .keyring("del s u"), .keyring("get s u", status: 1),
      .keyring("del s u", complains: "there is no such credential", status: 1)),
    Golden(
      "as pip 26.2 asks, with and without a user", saved: [byHand("u")],
      .keyring(
        "--mode=creds --output=json get \(url)",
        gives: #"{"username":"u","password":"p of u"}"# + "\n"),
      .keyring(
        "--mode=creds --output=json get \(url)/ u",
        gives: #"{"username":"u","password":"p of u"}"# + "\n"),
      .keyring("--mode=creds --output=json get \(url) v", status: 1)),
    Golden(
      "as uv asks without a user", saved: [byHand("u")],
      .keyring("get \(url) --mode creds", gives: "u\np of u\n")),
    Golden(
      "with a slash at the end of a URL and without", saved: [byHand("u")],
      .keyring("get \(url)/ u", gives: "p of u\n"), .keyring("get \(url)// u", status: 1),
      .keyring("set \(url)/ u", input: "other"), .keyring("get \(url)/ u", gives: "other\n"),
      .keyring("get \(url) u", gives: "p of u\n"), .keyring("del \(url)/ u"),
      .keyring("del \(url)/ u"), .keyring("get \(url) u", status: 1)),
    Golden(
      "of several users the newest", saved: [byHand("u"), byHand("a")],
      .keyring("--mode creds get \(url)", gives: "a\np of a\n")),
    Golden(
      "nothing that another tool saved", saved: [byHand("u", attributes: ["tool": "git"])],
      .keyring("get \(url) u", status: 1), .keyring("--mode creds get \(url)", status: 1),
      .keyring("del \(url) u", complains: "there is no such credential", status: 1)),
    Golden(
      "an empty password is none to set",
      .keyring("set s u", input: "\n", complains: "the password is empty", status: 64)),
  ])
  func `gives, keeps and deletes`(_ golden: Golden) async throws { try await golden.run() }

  @Test(arguments: [
    "", "get", "get s", "get s u v", "set s", "del s", "improve s u", "--list-backends",
    "--mode", "--mode creds", "--mode secret get s u", "--output json get s u",
    "--output=xml get s u",
    "-p path get s u", "diagnose",
  ])
  func `is refused with status 2 where it makes no sense`(line: String) async throws {
    let answer = await Call.keyring(line).answer(from: .inMemory(now: { .sample }))
    #expect(answer.status == 2)
    #expect(answer.output.isEmpty)
    #expect(answer.complaint != nil)
  }

  @Test(arguments: ["get s u", "--mode creds get s", "set s u", "del s u"])
  func `says why the storage cannot be asked`(line: String) async {
    let error = StorageError.locked("the storage is locked")
    let answer = await Call.keyring(line, input: "p").answer(from: .failing(error))
    #expect(answer.complaint?.code == .locked)
    #expect(answer.status == 5)
    #expect(answer.output.isEmpty)
  }
}

extension Call {
  fileprivate static func keyring(
    _ line: String, input: String = "", gives output: String = "",
    complains complaint: String? = nil, status: Int32 = 0
  ) -> Call {
    Call(
      helper: answerKeyring, arguments: line.split(separator: " ").map(String.init),
      input: Secret(utf8: input), output: output, complaint: complaint, status: status)
  }
}
