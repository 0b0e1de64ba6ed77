import KistCore
import KistInterop
import Testing

@Suite(.timeLimit(.minutes(10))) struct `What kistd reads of a keyring` {
  @Test(arguments: files) func `becomes the item that the adapter would have saved`(
    _ file: ForeignFile
  ) throws {
    try file.check()
  }

  private static let files = [
    ForeignFile(
      "an item of each program", .keyring,
      """
      {"attributes":{"xdg:schema":"org.git.Password","protocol":"https","server":"git.example","user":"alice"},"value":"aHVudGVyMg=="}
      {"attributes":{"xdg:schema":"io.docker.Credentials","server":"ghcr.io","username":"bob","docker_cli":"1"},"value":"cA=="}
      {"attributes":{"xdg:schema":"org.rust-lang.cargo.registry","url":"sparse+https://i.example/"},"value":"dA=="}
      {"attributes":{"application":"Python keyring library","service":"pypi","username":"c"},"value":"cQ=="}
      {"attributes":{"xdg:schema":"org.gnome.Evolution"},"value":""}
      """,
      [
        "https://git.example alice = hunter2 kist:item protocol=https server=git.example user=alice "
          + "xdg:schema=org.git.Password",
        "ghcr.io bob = p docker_cli=1 kist:item server=ghcr.io username=bob "
          + "xdg:schema=io.docker.Credentials",
        "cargo:sparse+https://i.example/  = t kist:item url=sparse+https://i.example/ "
          + "xdg:schema=org.rust-lang.cargo.registry",
        "pypi c = q application=Python keyring library kist:item service=pypi username=c",
      ], leftOut: [.notALogin: [5]]),
    ForeignFile(
      "git's, with a port, a path, a time and a refresh token", .keyring,
      // pw, password_expiry_utc=1800000000, oauth_refresh_token=rt, and a line that is none.
      #"{"attributes":{"xdg:schema":"org.git.Password","protocol":"https","server":"h","port":"8443","object":"a/b","user":"u"},"value":"cHcKcGFzc3dvcmRfZXhwaXJ5X3V0Yz0xODAwMDAwMDAwCm9hdXRoX3JlZnJlc2hfdG9rZW49cnQKeA=="}"#,
      [
        "https://h:8443/a/b u = pw\npassword_expiry_utc=1800000000\noauth_refresh_token=rt\nx "
          + "kist:item object=a/b port=8443 protocol=https server=h user=u "
          + "xdg:schema=org.git.Password"
      ]),
    ForeignFile(
      "git's, from before 2.43, and of no path", .keyring,
      #"{"attributes":{"xdg:schema":"org.gnome.keyring.NetworkPassword","protocol":"https","server":"git.example","object":"","user":"alice"},"value":"aHVudGVyMg=="}"#,
      [
        "https://git.example alice = hunter2 kist:item object= protocol=https server=git.example "
          + "user=alice xdg:schema=org.gnome.keyring.NetworkPassword"
      ]),
    ForeignFile(
      "a label, a content type, and an attribute that is kist's", .keyring,
      #"{"attributes":{"kist:collection":"x","application":"Python keyring library","service":"s","username":"c"},"label":"Mine","value":"cQ==","contentType":"text/html"}"#,
      [
        "s c = q (Mine) application=Python keyring library kist:content-type=text/html kist:item "
          + "service=s username=c"
      ]),
    ForeignFile(
      "items that lack what their program has", .keyring,
      """
      {"attributes":{"xdg:schema":"org.git.Password"},"value":""}
      {"attributes":{"xdg:schema":"io.docker.Credentials"},"value":""}

      {"attributes":{"xdg:schema":"org.rust-lang.cargo.registry"},"value":""}
      """, [], leftOut: [.notALogin: [1, 2, 4]]),
    ForeignFile(
      "items without a value, or that are locked", .keyring,
      """
      {"attributes":{"application":"Python keyring library","service":"pypi","username":"c"}}
      {"locked":true}
      {"locked":true}
      """, [], leftOut: [.withoutPassword: [1], .locked: [2, 3]]),
  ]

  @Test(arguments: [
    ("hunter2", "not a JSON object at byte 0"), ("{}", "`attributes` is missing"),
    (#"{"attributes":{},"value":"hunter2"}"#, "`value` is not base64 (RFC 4648 §4, with padding)"),
  ])
  func `is refused where it is something else`(line: String, problem: String) {
    let error = #expect(throws: StorageError.self) {
      try ForeignFormat.keyring.read(Secret(utf8: "\n" + line))
    }
    #expect(error?.message == "the file cannot be read: line 2: \(problem)")
  }
}
