import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A program that is asked for a password` {
  private static let saved = [
    NewCredential.sample(CredentialKey(service: "ssh", account: "me"), secret: "hunter2"),
    .sample(CredentialKey(service: "pem"), secret: "a\nb"),
  ]
  private static let question = "this is a question for the user, and kist does not answer it"

  @Test(arguments: [
    "Enter passphrase for key '/home/me/.ssh/id': ", "me@host's password: ",
    "Password for 'https://me@h': ", "[sudo] password for me: ", "anything at all",
    "[sudo] password for user: ", "username@host's password: ", "reyes@no.example's password: ",
  ])
  func `answers with the credential that is named, whatever the prompt`(
    prompt: String
  ) async throws {
    try await Golden(
      prompt, saved: Self.saved, .askpass(prompt, "kist://ssh/me", gives: "hunter2\n")
    ).run()
  }

  @Test(arguments: [
    "The authenticity of host 'h' can't be established.\nAre you sure you want to continue connecting (yes/no/[fingerprint])? ",
    "Please type 'yes' or 'no' (YES/NO): ", "Allow? [y/N] ", "Remove it (y/n)? ",
    "continue? y/n: ", "Delete? [Yy/Nn] ", "Please type 'yes', 'no' or the fingerprint: ",
    "Type 'yes' to go on: ",
  ])
  func `answers no question`(prompt: String) async throws {
    try await Golden(
      prompt, saved: Self.saved,
      .askpass(prompt, "kist://ssh/me", complains: Self.question, status: 6)
    ).run()
  }

  @Test(arguments: ["confirm", "none", ""])
  func `answers nothing where ssh wants no secret`(kind: String) async throws {
    var call = Call.askpass(
      "Allow use of key k?", "kist://ssh/me", complains: Self.question, status: 6)
    call.variables["SSH_ASKPASS_PROMPT"] = kind
    try await Golden(kind, saved: Self.saved, call).run()
  }

  @Test(arguments: [
    (nil, "KIST_ASKPASS does not name a credential", 64),
    ("hunter2", "KIST_ASKPASS has no reference kist://SERVICE/ACCOUNT", 64),
    ("", "KIST_ASKPASS has no reference kist://SERVICE/ACCOUNT", 64),
    ("kist://ssh/you", "there is no such credential", 2),
    ("kist://pem", "the secret contains a line break or a NUL byte, but an answer is one line", 64),
  ])
  func `says why it has no answer`(item: String?, complaint: String, status: Int32) async throws {
    try await Golden(
      "", saved: Self.saved, .askpass("Password: ", item, complains: complaint, status: status)
    ).run()
  }

  @Test(arguments: [
    "Username for 'https://h': ", "Username for 'https://password.example': ", "Username: ",
    "User name: ", "login: ", "Enter your username",
  ])
  func `answers a question for the user with the account, not the secret`(
    prompt: String
  ) async throws {
    try await Golden(
      "", saved: Self.saved, .askpass(prompt, "kist://ssh/me", gives: "me\n"),
      .askpass(
        prompt, "kist://pem",
        complains: "the prompt asks for a user name, but KIST_ASKPASS names no account",
        status: 64)
    ).run()
  }

  @Test func `says that the storage is locked`() async {
    let call = Call.askpass("Password: ", "kist://ssh/me")
    let answer = await call.answer(from: .failing(.locked("the storage is locked")))
    #expect(answer.status == 5)
    #expect(answer.output.isEmpty)
  }
}

extension Call {
  fileprivate static func askpass(
    _ prompt: String, _ item: String?, gives output: String = "",
    complains complaint: String? = nil, status: Int32 = 0
  ) -> Call {
    var call = Call(
      helper: answerAskpass, arguments: [prompt], output: output, complaint: complaint,
      status: status)
    call.variables["KIST_ASKPASS"] = item
    return call
  }
}
