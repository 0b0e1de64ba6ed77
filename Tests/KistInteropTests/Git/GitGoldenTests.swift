import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Git's credential helper` {
  @Test(arguments: [
    Golden(
      "what git stores it gets, to the byte",
      .git("store", "protocol=https host=h username=u password=p=;\"\u{1F511}"),
      .git("get", "protocol=https host=h", gives: "username=u password=p=;\"\u{1F511}")),
    Golden(
      "another protocol, host, port or user gets nothing",
      .git("store", "protocol=https host=h username=u password=p"),
      .git("get", "protocol=http host=h"), .git("get", "protocol=https host=other"),
      .git("get", "protocol=https host=h:8443"), .git("get", "protocol=https host=h username=v"),
      .git("get", "protocol=https host=h username="),
      .git("get", "protocol=https host=h username=u", gives: "username=u password=p")),
    Golden(
      "an empty user and an empty password are a user and a password",
      .git("store", "protocol=https host=h username= password="),
      .git("get", "protocol=https host=h", gives: "username= password=")),
    Golden(
      "what is stored with a path is for that path, and for who names none",
      .git("store", "protocol=https host=h path=a.git username=u password=p"),
      .git("get", "protocol=https host=h path=b.git"),
      .git("get", "protocol=https host=h path=a.git", gives: "username=u password=p"),
      .git("get", "protocol=https host=h", gives: "username=u password=p")),
    Golden(
      "what is stored for the host comes before what is stored for a path of it",
      .git("store", "protocol=https host=h username=u password=1"),
      .git("store", "protocol=https host=h path=a.git username=v password=2"),
      .git("get", "protocol=https host=h", gives: "username=u password=1"),
      .git("get", "protocol=https host=h username=v", gives: "username=v password=2")),
    Golden(
      "what is stored without a path is not for a path",
      .git("store", "protocol=https host=h username=u password=p"),
      .git("get", "protocol=https host=h path=a.git")),
    Golden(
      "of several users the newest is given, or the one that is asked for",
      .git("store", "protocol=https host=h username=u password=1"),
      .git("store", "protocol=https host=h username=a password=2"),
      .git("get", "protocol=https host=h", gives: "username=a password=2"),
      .git("get", "protocol=https host=h username=u", gives: "username=u password=1")),
    Golden(
      "a certificate has a path and no host",
      .git("store", "protocol=cert host= path=k.pem username= password=p"),
      .git("get", "protocol=cert host= path=k.pem", gives: "username= password=p")),
    Golden(
      "what lacks a part is not stored",
      .git("store", "host=h username=u password=p"),
      .git("store", "protocol=https username=u password=p"),
      .git("store", "protocol=https host=h password=p"),
      .git("store", "protocol=https host=h username=u"),
      .git("store", "protocol=https host=h username=u credential=c"),
      .git("get", "username=u"), .git("get", "host=h")),
    Golden(
      "a request that names no host or no protocol gets nothing",
      .git("store", "protocol=https host=h path=a username=u password=p"),
      .git("get", "password=p"), .git("get", "protocol=https"), .git("get", "username=u"),
      .git("get", "host=h"), .git("get", "protocol=https path=a")),
    Golden(
      "an operation or a key that is not known is passed over",
      .git("improve", "protocol=https host=h"),
      .git("store", "protocol=https host=h wwwauth[]=Basic state[]=x:1 username=u password=p"),
      .git("get", "protocol=https host=h capability[]=magic", gives: "username=u password=p")),
    Golden(
      "nothing after a blank line is read",
      .git("store", "protocol=https host=h username=u password=p \n username=v"),
      .git("get", "protocol=https host=h", gives: "username=u password=p")),
    Golden(
      "its capabilities are told",
      Call(
        helper: answerGit, arguments: ["capability"], input: Secret(utf8: ""),
        output: "version 0\ncapability authtype\n")),
  ])
  func `gives and keeps`(_ golden: Golden) async throws { try await golden.run() }

  @Test(arguments: [
    Golden(
      "the password that was tried, and no other",
      .git("store", "protocol=https host=h username=u password=new"),
      .git("erase", "protocol=https host=h username=u password=old"),
      .git("get", "protocol=https host=h", gives: "username=u password=new"),
      .git("erase", "protocol=https host=h username=u password=new"),
      .git("get", "protocol=https host=h")),
    Golden(
      "everything that is meant, where no password is named",
      .git("store", "protocol=https host=h username=u password=1"),
      .git("store", "protocol=https host=h username=v password=2"),
      .git("store", "protocol=https host=other username=u password=3"),
      .git("erase", "protocol=https host=h"), .git("get", "protocol=https host=h"),
      .git("get", "protocol=https host=other", gives: "username=u password=3")),
    Golden(
      "nothing, where no host or no protocol is named",
      .git("store", "protocol=https host=h path=a username=u password=p"),
      .erasesNothing("password=p"), .erasesNothing("protocol=https"), .erasesNothing("host=h"),
      .erasesNothing("username=u"), .git("erase", "protocol=https path=a"),
      .git("get", "protocol=https host=h", gives: "username=u password=p")),
    Golden(
      "the refresh token with its password",
      .git("store", "protocol=https host=h username=u password=p oauth_refresh_token=r"),
      .git("erase", "protocol=https host=h username=u password=p"),
      .git("store", "protocol=https host=h username=u password=q"),
      .git("get", "protocol=https host=h", gives: "username=u password=q")),
  ])
  func `erases`(_ golden: Golden) async throws { try await golden.run() }

  @Test(arguments: [
    Golden(
      "a password is given until it expires, its refresh token after that, too",
      .git(
        "store",
        "protocol=https host=h username=u password=p password_expiry_utc=1795168802 oauth_refresh_token=r"
      ),
      .git(
        "get", "protocol=https host=h",
        gives: "username=u password=p password_expiry_utc=1795168802 oauth_refresh_token=r"),
      .git("get", "protocol=https host=h", gives: "username=u oauth_refresh_token=r")),
    Golden(
      "of two the one that has not expired is given",
      .git("store", "protocol=https host=h username=u password=1"),
      .git("store", "protocol=https host=h username=v password=2 password_expiry_utc=1795168801"),
      .git("get", "protocol=https host=h", gives: "username=u password=1")),
    Golden(
      "an expiry that is no time is none",
      .git("store", "protocol=https host=h username=u password=p password_expiry_utc=soon"),
      .git("get", "protocol=https host=h", gives: "username=u password=p")),
    Golden(
      "a new password without a refresh token takes the old one's away",
      .git("store", "protocol=https host=h username=u password=p oauth_refresh_token=r"),
      .git("store", "protocol=https host=h username=u password=q"),
      .git("get", "protocol=https host=h", gives: "username=u password=q")),
    Golden(
      "what is ephemeral is not stored",
      .git("store", "protocol=https host=h username=u password=p ephemeral=1"),
      .git("get", "protocol=https host=h")),
    Golden(
      "a credential with a scheme of its own is for a git that knows such",
      .git("store", "capability[]=authtype protocol=https host=h authtype=Bearer credential=c"),
      .git(
        "get", "capability[]=authtype protocol=https host=h",
        gives: "capability[]=authtype authtype=Bearer credential=c"),
      .git("get", "protocol=https host=h"),
      .git("get", "capability[]=authtype capability[]= protocol=https host=h"),
      .git("erase", "protocol=https host=h password=c"),
      .git("erase", "protocol=https host=h authtype=Bearer credential=other"),
      .git(
        "get", "capability[]=authtype protocol=https host=h",
        gives: "capability[]=authtype authtype=Bearer credential=c"),
      .git("erase", "protocol=https host=h authtype=Bearer credential=c"),
      .git("get", "capability[]=authtype protocol=https host=h")),
  ])
  func `knows what newer gits send`(_ golden: Golden) async throws { try await golden.run() }

  private static let byHand = NewCredential.sample(
    CredentialKey(service: "https://h", account: "u"), secret: "p", label: "mine",
    expiresAt: Timestamp(secondsSinceEpoch: 1_795_168_900))

  @Test(arguments: [
    Golden(
      "is found by its URL", saved: [byHand],
      .git(
        "get", "protocol=https host=h",
        gives: "username=u password=p password_expiry_utc=1795168900"),
      .git("get", "protocol=https host=h username=v"), .git("get", "protocol=http host=h"),
      .git("get", "protocol=https host=h path=a.git"), .git("get", "host=h")),
    Golden(
      "is erased when git was refused with it", saved: [byHand],
      .git("erase", "protocol=https host=h username=u password=other"),
      .git(
        "get", "protocol=https host=h username=u",
        gives: "username=u password=p password_expiry_utc=1795168900"),
      .git("erase", "protocol=https host=h username=u password=p"),
      .git("get", "protocol=https host=h")),
    Golden(
      "is not erased where git names no password", saved: [byHand],
      .git("erase", "protocol=https host=h"), .git("erase", "protocol=https host=h username=u"),
      .git(
        "get", "protocol=https host=h",
        gives: "username=u password=p password_expiry_utc=1795168900")),
    Golden(
      "is given without an account where git asks for no user only",
      saved: [
        .sample(CredentialKey(service: "https://h"), secret: "p"),
        .sample(CredentialKey(service: "cert:///k.pem"), secret: "p"),
      ],
      .git(
        "get", bytes: Secret(utf8: "protocol=https\nhost=h\n"),
        complains: "the credential has no account, and git sends no password without one",
        status: 64),
      .git("get", "protocol=cert host= path=k.pem username=", gives: "username= password=p")),
    Golden(
      "is passed over for an older one where git cannot take it",
      saved: [
        .sample(CredentialKey(service: "https://h", account: "u"), secret: "p"),
        .sample(CredentialKey(service: "https://h", account: "v"), secret: "two\nlines"),
        .sample(CredentialKey(service: "https://h"), secret: "q"),
      ],
      .git("get", "protocol=https host=h", gives: "username=u password=p")),
    Golden(
      "is not given with a line of its own in a name",
      saved: [
        .sample(
          CredentialKey(service: "https://h", account: "u"),
          attributes: ["authtype": "Basic\npassword=INJECTED\nurl=https://evil"])
      ],
      .git(
        "get", bytes: Secret(utf8: "capability[]=authtype\nprotocol=https\nhost=h\n"),
        complains: "the attribute authtype of the credential is not an authentication scheme",
        status: 64)),
    Golden(
      "is not given where another tool saved it",
      saved: [
        .sample(CredentialKey(service: "https://h", account: "u"), attributes: ["tool": "docker"])
      ],
      .git("get", "protocol=https host=h"),
      .git(
        "store", bytes: Secret(utf8: "protocol=https\nhost=h\nusername=u\npassword=new\n"),
        complains: "another tool keeps a credential under this name; nothing was changed",
        status: 3)),
    Golden(
      "is not given with a line break or a NUL in it",
      saved: [
        .sample(CredentialKey(service: "https://lf", account: "u"), secret: "p\n"),
        .sample(CredentialKey(service: "https://cr", account: "u"), secret: "p\r"),
        .sample(CredentialKey(service: "https://nul", account: "u"), secret: "p\0host=evil"),
      ],
      .unanswerable("lf"), .unanswerable("cr"), .unanswerable("nul")),
  ])
  func `a credential that was saved by hand`(_ golden: Golden) async throws {
    try await golden.run()
  }

  @Test func `what git confirms is not saved again, and one saved by hand stays as it is`()
    async throws
  {
    let storage = UserStorage.inMemory(now: { .sample })
    let saved = try await storage.save(Self.byHand)
    let store = Call.git(
      "store", "protocol=https host=h username=u password=p password_expiry_utc=1795168900")
    #expect(await store.answer(from: storage).status == 0)
    #expect(try await storage.findAll() == [saved])
    let new = Call.git("store", "protocol=https host=h username=v password=q")
    _ = await new.answer(from: storage)
    let once = try await storage.findAll()
    _ = await new.answer(from: storage)
    #expect(try await storage.findAll() == once)
    #expect(once.count == 2)
  }

  @Test func `a credential has its URL as service and its user as account`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let store = Call.git(
      "store",
      "protocol=https host=h:8443 path=a/b.git username=u password=p oauth_refresh_token=r")
    _ = await store.answer(from: storage)
    let found = try await storage.findAll().sorted { $0.key < $1.key }
    #expect(
      found.map(\.key.service) == [
        "https://h:8443/a/b.git", "oauth_refresh_token:https://h:8443/a/b.git",
      ])
    #expect(found.allSatisfy { $0.key.account == "u" })
    #expect(
      found[0].attributes
        == ["tool": "git", "protocol": "https", "host": "h:8443", "path": "a/b.git"])
  }
}

extension Call {
  fileprivate static func erasesNothing(_ attribute: String) -> Call {
    .git(
      "erase", bytes: Secret(utf8: attribute + "\n"),
      complains: "git asked to erase without a protocol or a host; nothing was erased", status: 64)
  }

  fileprivate static func unanswerable(_ host: String) -> Call {
    .git(
      "get", bytes: Secret(utf8: "protocol=https\nhost=\(host)\n"),
      complains: "the credential contains a line break or a NUL byte, and git accepts neither",
      status: 64)
  }
}
