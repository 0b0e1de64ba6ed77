import KistCore
import KistInterop
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An entry of pass` {
  @Test(
    arguments: [
      ("github.com/alice", "hunter2\n", "github.com", "alice", "hunter2", [:]),
      (
        "work/mail.example/bob", "p\r\nlogin: bob\n", "work/mail.example", "bob", "p",
        [.furtherFields: [1]]
      ),
      ("router", " spaced ", "router", "", " spaced ", [:]),
      ("ssh/key", "-----BEGIN X-----\nabc\n", "ssh", "key", "-----BEGIN X-----\nabc\n", [:]),
    ] as [(String, String, String, String, String, [LeftOut: [Int]])])
  func `is named by its path, and its password is its first line`(
    name: String, content: String, service: String, account: String, password: String,
    leftOut: [LeftOut: [Int]]
  ) throws {
    var store = ForeignCredentials()
    try store.addPassEntry(name, Secret(utf8: content), at: 1)
    let credential = try #require(store.entries.first?.credential)
    #expect(credential.key == CredentialKey(service: service, account: account))
    #expect(credential.secret == Secret(utf8: password))
    #expect(store.leftOut == leftOut)
  }

  @Test(arguments: [
    ("\nlogin: bob", LeftOut.withoutPassword), ("otpauth://totp/x?secret=y\n", .oneTimePassword),
  ])
  func `without a password is left out`(content: String, what: LeftOut) throws {
    var store = ForeignCredentials()
    try store.addPassEntry("a", Secret(utf8: content), at: 3)
    #expect(store.entries.isEmpty)
    #expect(store.leftOut == [what: [3]])
  }
}
