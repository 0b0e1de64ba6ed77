import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `What AWS asks of a process` {
  private static let key = CredentialKey(service: "aws:prod", account: "AKIA1")
  private static let token = CredentialKey(service: "aws-session-token:prod", account: "AKIA1")
  private static let soon = Timestamp(rfc3339: "2026-11-20T10:00:10Z")!
  private static let later = Timestamp(rfc3339: "2026-11-20T11:00:00Z")!
  private static let past = Timestamp(rfc3339: "2020-01-01T00:00:00Z")!

  @Test(arguments: [
    Golden(
      "a key for long is its id and its secret", saved: [.sample(key, secret: "s/+\"")],
      .aws(#"{"Version":1,"AccessKeyId":"AKIA1","SecretAccessKey":"s/+\""}"#)),
    Golden(
      "a session has its token, and the earlier of the two times",
      saved: [
        .sample(key, secret: "s", expiresAt: later), .sample(token, secret: "t", expiresAt: soon),
      ],
      .aws(
        #"{"Version":1,"AccessKeyId":"AKIA1","SecretAccessKey":"s","SessionToken":"t","Expiration":"2026-11-20T10:00:10Z"}"#
      )),
    Golden(
      "of several keys the newest that has not expired",
      saved: [
        .sample(key, secret: "s"),
        .sample(CredentialKey(service: "aws:prod", account: "ASIA2"), expiresAt: past),
      ],
      .aws(#"{"Version":1,"AccessKeyId":"AKIA1","SecretAccessKey":"s"}"#)),
    Golden(
      "no key is an error", saved: [.sample(CredentialKey(service: "aws:other", account: "a"))],
      .aws(complains: "there is no such credential", status: 2)),
    Golden(
      "an expired key is an error", saved: [.sample(key, expiresAt: past)],
      .aws(complains: "the credential expired at 2020-01-01T00:00:00Z", status: 4)),
    Golden(
      "an expired session is one, too", saved: [.sample(key), .sample(token, expiresAt: past)],
      .aws(complains: "the credential expired at 2020-01-01T00:00:00Z", status: 4)),
    Golden(
      "a key without its id is an error", saved: [.sample(CredentialKey(service: "aws:prod"))],
      .aws(
        complains: "the credential has no account, which must be the access key id", status: 64)),
    Golden(
      "without a name there is nothing to give", saved: [.sample(key)],
      .aws([], complains: "the arguments of the helper are wrong", status: 64),
      .aws([""], complains: "the arguments of the helper are wrong", status: 64),
      .aws(["prod", "more"], complains: "the arguments of the helper are wrong", status: 64)),
  ])
  func `is answered in one object, or on standard error`(_ golden: Golden) async throws {
    try await golden.run()
  }

  @Test func `is an error if the secret is not text`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    try await storage.save(NewCredential(key: Self.key, secret: Secret(copying: [0xFF])))
    let answer = await Call.aws("").answer(from: storage)
    #expect(answer.output.isEmpty)
    #expect(answer.status == 64)
  }
}

extension Call {
  fileprivate static func aws(_ output: String) -> Call {
    Call(helper: answerAWS, arguments: ["prod"], output: output + "\n")
  }

  fileprivate static func aws(
    _ arguments: [String] = ["prod"], complains complaint: String, status: Int32
  ) -> Call {
    Call(helper: answerAWS, arguments: arguments, complaint: complaint, status: status)
  }
}
