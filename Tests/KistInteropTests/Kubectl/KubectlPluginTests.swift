import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `What kubectl asks of a plugin` {
  private static let later = Timestamp(rfc3339: "2026-11-20T11:00:00Z")!
  private static let past = Timestamp(rfc3339: "2020-01-01T00:00:00Z")!

  private static func saved(
    _ account: String, _ secret: String, expiresAt: Timestamp? = nil
  ) -> NewCredential {
    .sample(
      CredentialKey(service: "kubectl:prod", account: account), secret: secret,
      expiresAt: expiresAt)
  }

  @Test(arguments: [
    Golden(
      "a token, until it expires", saved: [saved("token", "t", expiresAt: later)],
      .kubectl(
        "v1", gives: #"{"expirationTimestamp":"2026-11-20T11:00:00Z","token":"t"}"#)),
    Golden(
      "a client certificate and its key",
      saved: [saved("client-certificate", "-\nc\n"), saved("client-key", "k")],
      .kubectl("v1", gives: #"{"clientCertificateData":"-\nc\n","clientKeyData":"k"}"#)),
    Golden(
      "both, in the version that is asked for",
      saved: [saved("token", "t"), saved("client-certificate", "c"), saved("client-key", "k")],
      .kubectl(
        "v1beta1", gives: #"{"token":"t","clientCertificateData":"c","clientKeyData":"k"}"#)),
    Golden(
      "a certificate without its key is an error", saved: [saved("client-certificate", "c")],
      .kubectl(
        complains: "only one of the client certificate and the client key is stored", status: 2)),
    Golden(
      "nothing is an error", saved: [saved("other", "t")],
      .kubectl(complains: "there is no such credential", status: 2)),
    Golden(
      "an expired token is an error", saved: [saved("token", "t", expiresAt: past)],
      .kubectl(complains: "the credential expired at 2020-01-01T00:00:00Z", status: 4)),
  ])
  func `is given`(_ golden: Golden) async throws { try await golden.run() }

  @Test(arguments: [
    (
      #"{"apiVersion":"client.authentication.k8s.io/v2"}"#,
      "kubectl uses a version of its protocol that kist does not know"
    ),
    ("{}", "the input is not valid: `apiVersion` is missing"),
    ("hunter2", "the input is not valid: not a JSON object at byte 0"),
  ])
  func `is refused in another version`(information: String, complaint: String) async throws {
    try await Golden(
      "", saved: [Self.saved("token", "t")],
      .kubectl(information: information, complains: complaint, status: 64)
    ).run()
  }

  @Test func `is given in version 1 where none is named`() async throws {
    try await Golden(
      "", saved: [Self.saved("token", "t")],
      Call(
        helper: answerKubectl, arguments: ["prod"],
        output:
          #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}"#
          + "\n")
    ).run()
  }
}

extension Call {
  fileprivate static func kubectl(_ version: String, gives status: String) -> Call {
    let version = "client.authentication.k8s.io/" + version
    let information =
      #"{"kind":"ExecCredential","apiVersion":"\#(version)","spec":{"interactive":false}}"#
    return Call(
      helper: answerKubectl, arguments: ["prod"],
      variables: ["KUBERNETES_EXEC_INFO": information],
      output: #"{"apiVersion":"\#(version)","kind":"ExecCredential","status":\#(status)}"# + "\n")
  }

  fileprivate static func kubectl(
    information: String? = nil, complains complaint: String, status: Int32
  ) -> Call {
    var call = Call(
      helper: answerKubectl, arguments: ["prod"], complaint: complaint, status: status)
    call.variables["KUBERNETES_EXEC_INFO"] = information
    return call
  }
}
