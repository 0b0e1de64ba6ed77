import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Docker's credential helper` {
  @Test(arguments: [
    Golden(
      "what docker stores it gets, to the byte",
      .docker(
        "store", #"{"ServerURL":"r:5000","Username":"u","Secret":"p\"\\\n\ud83d\udd11"}"# + "\n"),
      .docker(
        "get", "r:5000",
        gives: #"{"ServerURL":"r:5000","Username":"u","Secret":"p\"\\\n"# + "\u{1F511}\"}\n")),
    Golden(
      "blanks around a URL are no part of it", .store("r", "u", "p"),
      .docker("get", " r\r\n", gives: #"{"ServerURL":"r","Username":"u","Secret":"p"}"# + "\n")),
    Golden(
      "a URL is taken as it is", .store("https://index.docker.io/v1/", "u", "p"),
      .missing("https://index.docker.io/v1"), .missing("index.docker.io"),
      .missing("HTTPS://index.docker.io/v1/"),
      .docker("list", "unused", gives: #"{"https://index.docker.io/v1/":"u"}"# + "\n")),
    Golden(
      "an identity token has a user of its own", .store("r", "<token>", "t"),
      .docker("get", "r", gives: #"{"ServerURL":"r","Username":"<token>","Secret":"t"}"# + "\n")),
    Golden(
      "of several users the one who logged in last is given and listed, and a logout is one of all",
      .store("r", "u", "1"), .store("r", "v", "2"), .store("s", "w", "3"),
      .docker("get", "r", gives: #"{"ServerURL":"r","Username":"v","Secret":"2"}"# + "\n"),
      .store("r", "u", "1"),
      .docker("get", "r", gives: #"{"ServerURL":"r","Username":"u","Secret":"1"}"# + "\n"),
      .docker("list", "unused", gives: #"{"r":"u","s":"w"}"# + "\n"),
      .docker("erase", "r"), .missing("r"),
      .docker("list", "unused", gives: #"{"s":"w"}"# + "\n")),
    Golden(
      "what is not there is erased all the same", .docker("erase", "r"),
      .docker("list", "unused", gives: "{}\n")),
    Golden(
      "it tells its name and its version",
      .docker("version", "", gives: "docker-credential-kist (kist) \(KistVersion.current)\n"),
      .docker("--version", "", gives: "docker-credential-kist (kist) \(KistVersion.current)\n"),
      .docker("help", "", gives: "Usage: docker-credential-kist <store|get|erase|list|version>\n")),
  ])
  func `gives and keeps`(_ golden: Golden) async throws { try await golden.run() }

  private static let byHand = NewCredential.sample(
    CredentialKey(service: "r", account: "hand"), secret: "h")
  private static let handsAnswer = #"{"ServerURL":"r","Username":"hand","Secret":"h"}"# + "\n"

  @Test(arguments: [
    Golden(
      "is given, and neither listed nor erased", saved: [byHand],
      .docker("get", "r", gives: handsAnswer), .docker("list", "unused", gives: "{}\n"),
      .docker("erase", "r"), .docker("get", "r", gives: handsAnswer)),
    Golden(
      "is given where docker is not logged in, so that the list tells what is given",
      saved: [
        .sample(
          CredentialKey(service: "r", account: "u"), secret: "p", attributes: ["tool": "docker"]),
        byHand,
      ],
      .docker("get", "r", gives: #"{"ServerURL":"r","Username":"u","Secret":"p"}"# + "\n"),
      .docker("list", "unused", gives: #"{"r":"u"}"# + "\n"),
      .docker("erase", "r"), .docker("get", "r", gives: handsAnswer)),
    Golden(
      "is found by the bare host of an https URL only",
      saved: [
        .sample(CredentialKey(service: "index.docker.io", account: "hand"), secret: "h"),
        .sample(CredentialKey(service: "sudo", account: "hand"), secret: "h"),
      ],
      .docker(
        "get", "https://index.docker.io/v1/",
        gives: #"{"ServerURL":"https://index.docker.io/v1/","Username":"hand","Secret":"h"}"# + "\n"
      ),
      .missing("http://index.docker.io/v1/"), .missing("https://index.docker.io:8443/v1/"),
      .missing("https://sudo/v1/"), .docker("erase", "https://index.docker.io/v1/"),
      .docker(
        "get", "index.docker.io",
        gives: #"{"ServerURL":"index.docker.io","Username":"hand","Secret":"h"}"# + "\n")),
    Golden(
      "is not given when it has expired",
      saved: [
        .sample(CredentialKey(service: "r", account: "u"), expiresAt: .sample),
        .sample(
          CredentialKey(service: "r", account: "v"), attributes: ["tool": "docker"],
          expiresAt: .sample),
      ],
      .missing("r"), .docker("list", "unused", gives: "{}\n")),
    Golden(
      "is not given where another tool saved it",
      saved: [.sample(CredentialKey(service: "r", account: "u"), attributes: ["tool": "git"])],
      .missing("r"), .docker("erase", "r"), .docker("list", "unused", gives: "{}\n"),
      .refused(
        "store", #"{"ServerURL":"r","Username":"u","Secret":"p"}"#,
        "another tool keeps a credential under this name; nothing was changed; see it with `kist list --json`"
      )),
    Golden(
      "is not given where it is not text",
      saved: [
        NewCredential(key: CredentialKey(service: "r"), secret: Secret(copying: [0xFF, 0xFE]))
      ],
      .refused(
        "get", "r",
        "the credential is not text, and this tool accepts only text; see it with `kist load`")),
  ])
  func `a credential that docker did not save`(_ golden: Golden) async throws {
    try await golden.run()
  }
}
