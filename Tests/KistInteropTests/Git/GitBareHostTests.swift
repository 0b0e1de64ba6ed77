import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A credential that was saved by the bare host` {
  private static let byHost = NewCredential.sample(
    CredentialKey(service: "h.example", account: "u"), secret: "p")

  @Test(arguments: [
    Golden(
      "is found for https, at the same port only", saved: [byHost],
      .git("get", "protocol=https host=h.example", gives: "username=u password=p"),
      .git("get", "protocol=https host=h.example username=u", gives: "username=u password=p"),
      .git("get", "protocol=https host=h.example username=v"),
      .git("get", "protocol=http host=h.example"), .git("get", "protocol=ssh host=h.example"),
      .git("get", "protocol=https host=h.example:8443"),
      .git("get", "protocol=https host=www.h.example"),
      .git("get", "protocol=https host=h.example path=a.git")),
    Golden(
      "is found at the port in its name",
      saved: [.sample(CredentialKey(service: "h.example:8443", account: "u"), secret: "p")],
      .git("get", "protocol=https host=h.example:8443", gives: "username=u password=p"),
      .git("get", "protocol=https host=h.example")),
    Golden(
      "comes after the exact name, even if it is newer",
      saved: [
        .sample(CredentialKey(service: "https://h.example", account: "v"), secret: "q"), byHost,
      ],
      .git("get", "protocol=https host=h.example", gives: "username=v password=q"),
      .git("get", "protocol=https host=h.example username=u", gives: "username=u password=p")),
    Golden(
      "is not given if its name is not a host with a full stop",
      saved: [
        .sample(CredentialKey(service: "sudo", account: "u")),
        .sample(CredentialKey(service: "aws:prod", account: "u")),
        .sample(CredentialKey(service: "aws:my.prod", account: "u")),
      ],
      .git("get", "protocol=https host=sudo"), .git("get", "protocol=https host=aws:prod"),
      .git("get", "protocol=https host=aws:my.prod")),
    Golden(
      "is not given if another tool saved it",
      saved: [
        .sample(
          CredentialKey(service: "h.example", account: "u"), secret: "p",
          attributes: ["tool": "docker"])
      ],
      .git("get", "protocol=https host=h.example"),
      .git("erase", "protocol=https host=h.example username=u password=p")),
    Golden(
      "is erased only with its own password", saved: [byHost],
      .git("erase", "protocol=https host=h.example"),
      .git("erase", "protocol=https host=h.example username=u"),
      .git("erase", "protocol=https host=h.example username=u password=other"),
      .git("erase", "protocol=http host=h.example username=u password=p"),
      .git("erase", "protocol=https host=h.example:8443 username=u password=p"),
      .git("get", "protocol=https host=h.example", gives: "username=u password=p"),
      .git("erase", "protocol=https host=h.example username=u password=p"),
      .git("get", "protocol=https host=h.example")),
  ])
  func `is used`(_ golden: Golden) async throws {
    try await golden.run()
  }

  @Test func `git's confirmation of a bare host saves nothing, and another secret leaves it alone`()
    async throws
  {
    let storage = UserStorage.inMemory(now: { .sample })
    let saved = try await storage.save(Self.byHost)
    let confirmed = Call.git("store", "protocol=https host=h.example username=u password=p")
    #expect(await confirmed.answer(from: storage).status == 0)
    #expect(try await storage.findAll() == [saved])
    let other = Call.git("store", "protocol=https host=h.example username=u password=q")
    #expect(await other.answer(from: storage).status == 0)
    let all = try await storage.findAll().sorted { $0.key < $1.key }
    #expect(all.map(\.key.service) == ["h.example", "https://h.example"])
    #expect(all.first == saved)
  }
}
