import KistInterop
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A file of a tool's` {
  @Test(arguments: netrc + gitCredentials) func `of words or URLs is read`(_ file: ForeignFile)
    throws
  { try file.check() }

  @Test(arguments: docker + aws + cargo) func `of another kind is read`(_ file: ForeignFile) throws
  { try file.check() }

  private static let netrc = [
    ForeignFile(
      "a .netrc on one line and on several", .netrc,
      """
      machine example.com login alice password hunter2
      machine ftp.example
        login bob
        password "with \\"quotes\\" and \\\\, a\\ttab"
      """, ["example.com alice = hunter2", "ftp.example bob = with \"quotes\" and \\, a\ttab"]),
    ForeignFile(
      "a .netrc with comments, a macro, an account and a default", .netrc,
      "# machine old login a password b\r\nmachine a login b # c\n",
      [], leftOut: [.withoutPassword: [2]]),
    ForeignFile(
      "a macro ends at a blank line", .netrc,
      "machine a password p#1\nmacdef init\ncd /pub\nmachine x\n\nmachine b account c password q\n"
        + "default login anonymous password me@here\n",
      ["a  = p#1", "b  = q"],
      leftOut: [.macro: [2], .furtherFields: [6], .ofNoHost: [7]]),
    ForeignFile(
      "a .netrc with a byte order mark", .netrc, "\u{FEFF}machine a password b", ["a  = b"]),
    ForeignFile(
      "a .netrc with capitals in a host", .netrc, "machine GIT.Example.com login A password b",
      ["git.example.com A = b"]),
    ForeignFile("an empty .netrc", .netrc, "", []),
  ]

  private static let gitCredentials = [
    ForeignFile(
      "git's own file", .gitCredentials,
      """
      https://alice:hunter2@github.com
      https://bob%40work:p%2Fw%25@git.example:8443/team/repo

      # a comment
      https://nobody@github.com
      https://git.example
      """,
      [
        "https://github.com alice = hunter2 host=github.com protocol=https tool=git",
        "https://git.example:8443/team/repo bob@work = p/w% host=git.example:8443"
          + " path=team/repo protocol=https tool=git",
      ], leftOut: [.withoutPassword: [5, 6]]),
    ForeignFile(
      "what git passes over, slashes at the ends of a path, and a second at sign", .gitCredentials,
      "junk\nhttps://u:p@h//repo.git/\nhttps://u:p@second@i",
      [
        "https://h/repo.git u = p host=h path=repo.git protocol=https tool=git",
        "https://second@i u = p host=second@i protocol=https tool=git",
      ], leftOut: [.notALogin: [1]]),
  ]

  private static let docker = [
    ForeignFile(
      "docker's file", .docker,
      """
      {"auths": {
        "https://index.docker.io/v1/": {"auth": "YWxpY2U6aHVudGVyMg=="},
        "ghcr.io": {"auth": "YjpjOmQ=", "email": "x"},
        "azure.example": {"auth": "MDA6", "identitytoken": "eyJ0"},
        "old.example": {"username": "u", "password": "p"},
        "kept.example": {}
      }, "credsStore": "desktop", "HttpHeaders": {"User-Agent": "x"}}
      """,
      [
        "https://index.docker.io/v1/ alice = hunter2 tool=docker", "ghcr.io b = c:d tool=docker",
        "azure.example <token> = eyJ0 tool=docker", "old.example u = p tool=docker",
      ], leftOut: [.keptElsewhere: [5]]),
    ForeignFile("a docker file without logins", .docker, #"{"credsStore":"pass"}"#, []),
  ]

  private static let aws = [
    ForeignFile(
      "AWS's file", .aws,
      """
      ; a comment
      [default]
      aws_access_key_id = AKIA1
      aws_secret_access_key=s/ec+ret=
      region = eu-central-1

      [prod]
      AWS_ACCESS_KEY_ID = AKIA2
      aws_secret_access_key = t
      aws_session_token = token==
      s3 =
        max_concurrent_requests = 20
      [sso]
      sso_session = x
      """,
      [
        "aws:default AKIA1 = s/ec+ret= tool=aws", "aws:prod AKIA2 = t tool=aws",
        "aws-session-token:prod AKIA2 = token== tool=aws",
      ], leftOut: [.withoutAccessKey: [13], .furtherFields: [2, 7]]),
    ForeignFile(
      "a profile of AWS's with a setting that is indented below the key", .aws,
      "[a]\naws_access_key_id = A\naws_secret_access_key = s\n  region = eu\n",
      ["aws:a A = s tool=aws"], leftOut: [.furtherFields: [1]]),
    ForeignFile(
      "a profile of AWS's whose settings are all indented", .aws,
      "[a]\n  aws_access_key_id = A\n  s3 =\n    aws_access_key_id = B\n"
        + "  aws_secret_access_key = s\n",
      ["aws:a A = s tool=aws"], leftOut: [.furtherFields: [1]]),
  ]

  private static let cargo = [
    ForeignFile(
      "cargo's file, with the registries of its configuration", .cargo,
      """
      # by cargo login
      [registry]
      token = "crates\\u0021"

      [registries.ours]
      token = 'Bearer x'
      [registries]
      "the.ir" = { token = "y" }
      other.token = "z"
      signing.secret-key = "k3.secret"
      """,
      configuration: """
        [registries.ours]
        index = "sparse+https://index.example/"
        [registries."the.ir"]
        index = "https://git.example/index" # a repository
        [net]
        retry = [ 1, # one
          "]" ]
        """,
      [
        "cargo:https://github.com/rust-lang/crates.io-index  = crates!"
          + " (cargo registry crates-io) tool=cargo",
        "cargo:sparse+https://index.example/  = Bearer x (cargo registry ours) tool=cargo",
        "cargo:https://git.example/index  = y (cargo registry the.ir) tool=cargo",
      ], leftOut: [.unknownRegistry: [9], .notALogin: [10]]),
    ForeignFile(
      "values that are no strings", .cargo,
      """
      a = 0
      a = +1000 # a number
      a = -17
      a = true
      a = false# a comment
      a = "\\e\\x41"
      a = ""
      a = []
      a = [ 1, 2 , ] # two
      a = [[1, 'b'], [ # of two
        5, "c",

      ], {d = [true], token = "in an array"}]
      registry = {a = 1, # of TOML 1.1
        token = "t",
        b = [false],
      }
      """,
      [
        "cargo:https://github.com/rust-lang/crates.io-index  = t (cargo registry crates-io) tool=cargo"
      ], leftOut: [.misplaced: [13]]),
    ForeignFile(
      "tokens of cargo's file in places where cargo looks for none", .cargo,
      """
      token = "a"
      [registries]
      token = "b"
      [registries.my.company]
      token = "c"
      [registry.my]
      token = "d"
      """,
      configuration: "[registries.my]\nindex = 'https://my.example/index'", [],
      leftOut: [.misplaced: [1, 3, 5, 7]]),
  ]
}
