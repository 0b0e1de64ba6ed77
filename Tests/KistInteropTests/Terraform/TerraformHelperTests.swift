import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Terraform's credentials helper` {
  @Test(arguments: [
    Golden(
      "what Terraform stores it gets, and forgets",
      .terraform("store", input: #"{"token":"a\"b"}"#),
      .terraform("get", gives: #"{"token":"a\"b"}"#),
      .terraform("store", input: #"{"token":"c"}"#),
      .terraform("get", gives: #"{"token":"c"}"#),
      .terraform("forget"), .terraform("get", gives: "{}"), .terraform("forget")),
    Golden(
      "what a person saved", saved: [.sample(CredentialKey(service: "terraform:h"), secret: "t")],
      .terraform("get", gives: #"{"token":"t"}"#)),
    Golden(
      "an expired token is an error",
      saved: [
        .sample(
          CredentialKey(service: "terraform:h"),
          expiresAt: Timestamp(rfc3339: "2020-01-01T00:00:00Z")!)
      ],
      .terraform(
        "get", complains: "the credential expired at 2020-01-01T00:00:00Z", status: 4)),
    Golden(
      "what has more to it than a token is refused, and nothing is lost",
      .terraform("store", input: #"{"token":"c"}"#),
      .terraform(
        "store", input: #"{"token":"d","refresh":"x"}"#,
        complains: "the input is not valid: an unknown key at byte 13"),
      .terraform(
        "store", input: "", complains: "the input is not valid: not a JSON object at byte 0"),
      .terraform("store", input: "{}", complains: "the input is not valid: `token` is missing"),
      .terraform("improve", complains: "there is no such operation"),
      .terraform("get", gives: #"{"token":"c"}"#)),
  ])
  func `gives, keeps and forgets`(_ golden: Golden) async throws { try await golden.run() }

  @Test(arguments: ["get", "store", "forget"])
  func `says why the storage cannot be asked, and not that there is nothing`(
    operation: String
  ) async {
    let error = StorageError.locked("the storage is locked")
    let call = Call.terraform(operation, input: #"{"token":"c"}"#)
    let answer = await call.answer(from: .failing(error))
    #expect(answer.complaint?.code == .locked)
    #expect(answer.status == 5)
    #expect(answer.output.isEmpty)
  }

  @Test func `saves an ordinary credential`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let call = Call.terraform("store", input: #"{"token":"t"}"#)
    _ = await call.answer(from: storage)
    let saved = try await storage.findAll()
    #expect(saved.map(\.key) == [CredentialKey(service: "terraform:h")])
    #expect(saved.first?.attributes == ["tool": "terraform", "host": "h"])
  }
}

extension Call {
  fileprivate static func terraform(
    _ operation: String, input: String = "", gives output: String? = nil,
    complains complaint: String? = nil, status: Int32? = nil
  ) -> Call {
    Call(
      helper: answerTerraform, arguments: [operation, "h"], input: Secret(utf8: input),
      output: output.map { $0 + "\n" } ?? "", complaint: complaint,
      status: status ?? (complaint == nil ? 0 : 64))
  }
}
