import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The natural key of an item` {
  @Test(arguments: [
    (
      ["xdg:schema": "org.git.Password", "protocol": "https", "server": "h.example", "user": "u"],
      "https://h.example u"
    ),
    (
      [
        "xdg:schema": "org.git.Password", "protocol": "https", "server": "h", "port": "8443",
        "object": "a/b", "user": "u",
      ], "https://h:8443/a/b u"
    ),
    (
      [
        "xdg:schema": "org.gnome.keyring.NetworkPassword", "protocol": "http", "server": "h",
        "object": "", "user": "u",
      ], "http://h u"
    ),
    (["xdg:schema": "io.docker.Credentials", "server": "ghcr.io", "username": "u"], "ghcr.io u"),
    (
      ["xdg:schema": "org.rust-lang.cargo.registry", "url": "sparse+https://i/"],
      "cargo:sparse+https://i/ "
    ),
    (["application": "Python keyring library", "service": "pypi", "username": "u"], "pypi u"),
    (["service": "gh:github.com", "username": "alice"], "gh:github.com alice"),
    (["service": "gh:github.com", "username": ""], "gh:github.com "),
    (["kist:item": "1", "service": "gh:github.com", "username": "u"], "gh:github.com u"),
    (["xdg:schema": "io.kist.Credential", "service": "s", "account": ""], "s "),
  ])
  func `is the key that kist's own helper uses`(attributes: [String: String], key: String) {
    let found = naturalKey(ofItemWith: Attributes(attributes)).map { "\($0.service) \($0.account)" }
    #expect(found == key)
  }

  @Test(arguments: [
    [:], ["xdg:schema": "org.gnome.Evolution"], ["service": "s"], ["username": "u"],
    ["service": "s", "username": "u", "profile": "p"],
    ["xdg:schema": "org.git.Password", "protocol": "https", "server": "h"],
    // The key would be that of the host `a` and the path `b`.
    ["xdg:schema": "org.git.Password", "protocol": "https", "server": "a/b", "user": "u"],
    // A file share, for example.
    [
      "xdg:schema": "org.gnome.keyring.NetworkPassword", "protocol": "smb", "server": "h",
      "user": "u",
    ],
    ["xdg:schema": "io.docker.Credentials", "server": "", "username": "u"],
    ["xdg:schema": "io.kist.Credential", "service": "s"],
    ["service": "a\nb", "username": "u"],
    ["service": String(repeating: "s", count: 1025), "username": "u"],
  ])
  func `is absent for an item of another form, or beyond the limits`(
    attributes: [String: String]
  ) {
    #expect(naturalKey(ofItemWith: Attributes(attributes)) == nil)
  }
}

/// The credentials as the Secret Service adapter saves them: with the attributes of the items.
@Suite(.timeLimit(.minutes(10))) struct `An item that another program stored` {
  private static let gitAttributes: Attributes = [
    "xdg:schema": "org.git.Password", "protocol": "https", "server": "h.example", "user": "u",
  ]
  private static let key = CredentialKey(service: "https://h.example", account: "u")

  private static func git(_ value: String, account: String = "u") -> NewCredential {
    .sample(
      CredentialKey(service: "https://h.example", account: account), secret: value,
      attributes: gitAttributes)
  }

  private static let docker = NewCredential.sample(
    CredentialKey(service: "ghcr.io", account: "u"), secret: "p",
    attributes: ["xdg:schema": "io.docker.Credentials", "server": "ghcr.io", "username": "u"])
  private static let goKeyring = NewCredential.sample(
    CredentialKey(service: "gh:github.com", account: "alice"), secret: "token",
    attributes: [
      "kist:item": "1", "service": "gh:github.com", "username": "alice",
    ])

  @Test(arguments: [
    Golden(
      "is found by the helper of its tool", saved: [git("p"), docker],
      .git("get", "protocol=https host=h.example", gives: "username=u password=p"),
      .git("get", "protocol=https host=h.example username=u", gives: "username=u password=p"),
      .git("get", "protocol=https host=h.example username=v"),
      .docker(
        "get", "ghcr.io",
        gives: #"{"ServerURL":"ghcr.io","Username":"u","Secret":"p"}"# + "\n"),
      .docker("list", "", gives: #"{"ghcr.io":"u"}"# + "\n")),
    Golden(
      "of git has an expiry and a refresh token in its value",
      saved: [git("p\npassword_expiry_utc=2000000000\noauth_refresh_token=r\n")],
      .git(
        "get", "protocol=https host=h.example",
        gives: "username=u password=p password_expiry_utc=2000000000 oauth_refresh_token=r")),
    Golden(
      "of git that has expired gives only its refresh token",
      saved: [git("p\npassword_expiry_utc=1\noauth_refresh_token=r")],
      .git("get", "protocol=https host=h.example", gives: "username=u oauth_refresh_token=r")),
    Golden(
      "is erased by its own password only", saved: [git("p\noauth_refresh_token=r")],
      .git("erase", "protocol=https host=h.example username=u password=other"),
      .git(
        "get", "protocol=https host=h.example", gives: "username=u password=p oauth_refresh_token=r"
      ),
      .git("erase", "protocol=https host=h.example username=u password=p"),
      .git("get", "protocol=https host=h.example")),
    Golden(
      "is not found by another tool",
      saved: [
        .sample(
          CredentialKey(service: "https://h.example", account: "u"), secret: "p",
          attributes: [
            "application": "Python keyring library", "service": "https://h.example",
            "username": "u",
          ]
        ).marked,
        .sample(
          CredentialKey(service: "ghcr.io", account: "u"),
          attributes: ["xdg:schema": "org.gnome.Evolution"]),
      ],
      .git("get", "protocol=https host=h.example"), .missing("ghcr.io")),
    Golden(
      "is not found under another key than its natural one",
      saved: [git("p", account: "u (2)")], .git("get", "protocol=https host=h.example")),
    Golden(
      "is not found by a helper if no tool has its form",
      saved: [
        .sample(
          CredentialKey(service: "github.com", account: "u"),
          attributes: ["kist:item": "1", "service": "github.com", "username": "u"])
      ], .git("get", "protocol=https host=github.com"), .missing("github.com")),
    Golden(
      "is forgotten with a logout of docker", saved: [docker], .docker("erase", "ghcr.io"),
      .missing("ghcr.io")),
  ])
  func `matches`(_ golden: Golden) async throws { try await golden.run() }

  @Test func `is not written again when git confirms its password`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let saved = try await storage.save(Self.git("p\noauth_refresh_token=r"))
    for line in [
      "protocol=https host=h.example username=u password=p",
      "protocol=https host=h.example username=u password=p oauth_refresh_token=r",
    ] {
      _ = await Call.git("store", line).answer(from: storage)
      #expect(try await storage.load(Self.key).summary == saved)
    }
  }

  @Test func `keeps exactly its attributes when a helper saves a new secret`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    try await storage.save(Self.git("p"))
    try await storage.save(Self.docker)
    _ = await Call.git("store", "protocol=https host=h.example username=u password=q")
      .answer(from: storage)
    _ = await Call.store("ghcr.io", "u", "q").answer(from: storage)
    let git = try await storage.load(Self.key)
    #expect(git.secret.text == "q")
    #expect(git.summary.attributes == Self.gitAttributes)
    let docker = try await storage.load(Self.docker.key)
    #expect(docker.secret.text == "q")
    #expect(docker.summary.attributes == Self.docker.attributes)
  }

  @Test func `of go-keyring is loaded by its service and account`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    try await storage.save(Self.goKeyring)
    let key = try #require(
      naturalKey(ofItemWith: ["service": "gh:github.com", "username": "alice"]))
    #expect(try await storage.load(key).secret.text == "token")
  }
}

extension NewCredential {
  /// The credential with a reserved attribute, by which kist knows an item.
  fileprivate var marked: NewCredential {
    var credential = self
    credential.attributes["kist:item"] = "1"
    return credential
  }
}
