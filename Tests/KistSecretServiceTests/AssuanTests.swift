#if SecretService
  import KistCore
  @testable import KistSecretServiceProgram
  import Testing

  @Suite(.timeLimit(.minutes(10))) struct `The protocol of pinentry` {
    @Test(arguments: [
      ("50% off\nnow", "SETDESC 50%25 off%0Anow\n"),
      ("a\r\u{1B}[31mb\u{202E}c\u{85}", "SETDESC a[31mbc\n"),
      ("é", "SETDESC é\n"),
      ("", "SETDESC\n"),
    ])
    func `sends a text on one line, without control characters`(text: String, line: String) {
      #expect(String(decoding: Assuan.line("SETDESC", text), as: UTF8.self) == line)
    }

    @Test func `sends no line over its limit, and no part of a character`() {
      let line = Assuan.line("SETDESC", String(repeating: "é%", count: 1000))
      #expect(line.count <= Assuan.longestLine + 1)
      #expect(line.last == UInt8(ascii: "\n"))
      #expect(String(validating: line, as: UTF8.self) != nil)
    }

    @Test(arguments: [
      ("D battery%20staple", "battery staple"), ("D 100%25%0a%0D", "100%\n\r"), ("D ", ""),
      ("D %C3%A9", "é"),
    ])
    func `reads a passphrase`(line: String, passphrase: String) {
      guard case .data(let secret) = reply(line) else {
        Issue.record("not a passphrase")
        return
      }
      #expect(secret == Secret(utf8: passphrase))
    }

    @Test(arguments: [
      "D %", "D %4", "D %zz", "d x", "D", "S PASSWORD_FROM_CACHE", "# OK", "", "OKAY",
    ])
    func `ignores a line that it does not know`(line: String) {
      guard case .other = reply(line) else {
        Issue.record("a reply")
        return
      }
    }

    @Test(
      arguments: [
        ("ERR 83886179 Operation cancelled <Pinentry>", 99), ("ERR 83886194", 114),
        ("ERR 99999999999999999999", nil), ("ERR x", 0),
      ] as [(String, UInt32?)])
    func `reads the code of an error`(line: String, code: UInt32?) {
      guard case .error(let found) = reply(line) else {
        Issue.record("not an error")
        return
      }
      if let code { #expect(found == code) }
    }

    private func reply(_ line: String) -> Assuan.Reply {
      Secret(utf8: line).withBytes { Assuan.reply($0) }
    }
  }
#endif
