import KistCore
import KistTesting
import Testing

@testable import KistInterop

/// A search to the end of the line at each of these places would take hours.
@Suite(.timeLimit(.minutes(10))) struct `A file that makes a search slow` {
  private static func filled(_ piece: String, _ size: Int = 1 << 20, end: String = "") -> Secret {
    Secret(utf8: String(repeating: piece, count: size / piece.utf8.count) + end)
  }

  @Test(arguments: [
    "<password>${a}", "<password>$", "<password> ", "<password>\"", "<password><", "<",
  ])
  func `is read by the search for elements`(_ piece: String) {
    let blanks = String(repeating: " ", count: 1 << 20)
    let lines = PlainLines.elements(["password", "passphrase"])
    _ = lines.occur(in: Self.filled(piece, end: blanks))
  }

  @Test(arguments: ["=", "= ", "password :", "password", " "])
  func `is read by the search for settings`(_ piece: String) {
    _ = PlainLines.settings(["_authToken", "password"]).occur(in: Self.filled(piece, end: "="))
  }

  @Test(arguments: ["-----BEGIN ", "ghp_", "github_pat_", "-----BEGIN PRIVATE KE", "-"])
  func `is read by the search for tokens`(_ piece: String) {
    _ = TokenShape.found(in: Self.filled(piece))
  }

  @Test(arguments: [
    (ForeignFormat.netrc, ["machine a ", "\"", "macdef a\n", " "]), (.docker, ["{\"auths\":"]),
    (.gitCredentials, ["https://a:b@c/\n", "https://", "%41", "/"]), (.aws, ["[a]\n", "=", " "]),
    (.cargo, ["[a.a.a]\n", "a.", "a={b={}}\n", "a=[", "\""]),
  ])
  func `is read by the readers of files that kist doctor reads`(
    _ format: ForeignFormat, _ pieces: [String]
  ) {
    for piece in pieces { _ = try? format.read(Self.filled(piece, 1 << 18)) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A value in plain text` {
  @Test(arguments: [
    ("<password>hunter2</password>", true), ("<password> \"hunter2\" </password>", true),
    ("<password>${env.A}</password>", false), ("<password>\"${env.A}\"</password>", false),
    ("<password>{encrypted}</password>", false), ("<password></password>", false),
    ("<password>\"\"", false), ("<password>${a}</password><passphrase>b</passphrase>", true),
  ])
  func `of an element is neither a variable nor encrypted`(line: String, isPlain: Bool) {
    let lines = PlainLines.elements(["password", "passphrase"])
    #expect(lines.occur(in: Secret(utf8: line)) == isPlain)
  }

  @Test(arguments: [
    ("password = hunter2", true), ("//a/:_authToken=\"hunter2\"", true), ("password = \"\"", false),
    ("password=${A}", false), ("# password = hunter2", false), ("password =   ", false),
  ])
  func `of a setting is neither a variable nor empty`(line: String, isPlain: Bool) {
    let lines = PlainLines.settings(["password", "_authToken"])
    #expect(lines.occur(in: Secret(utf8: line)) == isPlain)
  }
}
