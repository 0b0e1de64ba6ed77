import KistInterop
import Testing

/// A reader that looked at the rest of a line for each of its separators would hang here.
@Suite(.timeLimit(.minutes(10))) struct `A file with a million of the same separator` {
  @Test(arguments: [
    ForeignFile(
      "commas behind Bitwarden's only URL", .bitwarden,
      row(with: "https://a.example/" + million(",")), ["a.example u = p (A)"],
      leftOut: [.furtherURLs: [2]]),
    ForeignFile(
      "commas between Bitwarden's two URLs", .bitwarden,
      row(with: "https://a.example/" + million(",") + "https://b.example"),
      ["a.example u = p (A)"], leftOut: [.furtherURLs: [2]]),
    ForeignFile(
      "what could begin a scheme, between commas in Bitwarden's URL", .bitwarden,
      row(with: "https://a.example/" + million(",a:/")), ["a.example u = p (A)"],
      leftOut: [.furtherURLs: [2]]),
    ForeignFile(
      "slashes at both ends of a path of git's", .gitCredentials,
      "https://u:p@h/" + million("/") + "repo.git" + million("/") + "\n",
      ["https://h/repo.git u = p host=h path=repo.git protocol=https tool=git"]),
    ForeignFile(
      "nothing but slashes in a path of git's", .gitCredentials,
      "https://u:p@h/" + million("/") + "\n",
      ["https://h u = p host=h protocol=https tool=git"]),
  ])
  func `is read`(_ file: ForeignFile) throws { try file.check() }

  private static func row(with urls: String) -> String {
    "type,name,login_uri,login_username,login_password\nlogin,A,\"\(urls)\",u,p\n"
  }

  private static func million(_ separator: String) -> String {
    String(repeating: separator, count: 1_000_000)
  }
}
