#if Libsecret
  import Foundation
  import KistClient
  import KistKeyrings
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .timeLimit(.minutes(10)))
  struct `kist import keyring` {
    @Test func `imports credentials of other programs, and a second import changes nothing`()
      async throws
    {
      try await withKeyring { home, bus, _ in
        let tool = SecretTool(on: bus)
        try await tool.store(
          "hunter2".utf8, "xdg:schema", "org.git.Password", "protocol", "https", "server",
          "git.example", "user", "alice")
        try await tool.store(
          "p w".utf8, "application", "Python keyring library", "service", "pypi", "username", "bob")
        try await tool.store("other".utf8, "application", "another program")
        try await tool.store("own".utf8, "xdg:schema", "io.kist.Credential", "service", "s")
        try await withDaemon(in: home, ["--storage", "encrypted-file"]) { daemon in
          let first = try await command("kist", ["import", "keyring", "--yes"], in: home)
          #expect(first.status == .exited(0), "\(first.error)")
          #expect(
            first.output == "new\thttps://git.example\talice\tlabel\n"
              + "new\tpypi\tbob\tlabel\n")
          // Items of kist are not among them.
          #expect(
            first.error
              == "kist: not imported: entries of programs that kist does not know (1: label)\n")
          let git = try await command(
            "kist", ["helper", "git", "get"], in: home,
            input: "protocol=https\nhost=git.example\n\n")
          #expect(git.output == "username=alice\npassword=hunter2\n")
          let key = CredentialKey(service: "pypi", account: "bob")
          #expect(try await daemon.connect().load(key).secret == Secret(utf8: "p w"))
          let revisions = try await daemon.connect().findAll().map(\.revision)
          let second = try await command("kist", ["import", "keyring", "--yes"], in: home)
          #expect(second.output == first.output.replacing("new", with: "same"))
          #expect(try await daemon.connect().findAll().map(\.revision) == revisions)
        }
        let left = try await tool.lookup("service", "pypi")
        #expect(left.text == "p w")
      }
    }

    @Test func `imports from the open keyring, and reports how many items are in a locked one`()
      async throws
    {
      try await withPrivateBus { bus in
        // An earlier login keyring, whose password is not entered.
        let keyring = try await GnomeKeyring(.password("earlier"), on: bus)
        let tool = SecretTool(on: bus)
        for user in ["first", "second"] { try await tool.storePythonItem("p", user: user) }
        try await keyring.stop()
        try FileManager.default.moveItem(
          atPath: keyring.files + "/login.keyring", toPath: keyring.files + "/before.keyring")
        try await keyring.restart(.password("pw"))
        try await tool.storePythonItem("p w", user: "bob")
        try await withHome { home in
          var home = home
          home.busAddress = bus.address
          try await withDaemon(in: home, ["--storage", "encrypted-file"]) { _ in
            let end = try await command("kist", ["import", "keyring", "--yes"], in: home)
            #expect(end.status == .exited(0))
            #expect(end.output == "new\tpypi\tbob\tlabel\n")
            #expect(
              end.error == "kist: not imported: entries in a locked keyring (2)\n")
          }
        }
      }
    }

    @Test(arguments: [
      ("kist", ["import", "keyring", "--yes"]),
      ("script", ["-qec", "kist import keyring --yes --no-prompt", "/dev/null"]),
    ])
    func `opens no password prompt if it is not interactive or has --no-prompt`(
      program: String, words: [String]
    ) async throws {
      try await withKeyring { home, bus, keyring in
        try await SecretTool(on: bus).storePythonItem("p", user: "bob")
        try await keyring.restart(.locked)
        _ = try await Prompter(on: bus)
        try await withDaemon(in: home, ["--storage", "encrypted-file"]) { _ in
          let end = try await command(program, words, in: home)
          let said = end.output + end.error
          #expect(end.status == .exited(5), "\(said)")
          #expect(said.contains("kistd: the keyring is locked"), "\(said)")
        }
      }
    }

    @Test func `fails without a session bus, and kistd keyring-items refuses a terminal`()
      async throws
    {
      try await withHome { home in
        try await withDaemon(in: home) { _ in
          let end = try await command("kist", ["import", "keyring", "--yes"], in: home)
          #expect(end.status == .exited(7))
          #expect(
            end.error.contains("kistd: error: there is no session bus")
              || end.error.contains("no session bus"))
          #expect(end.error.contains("kist: kistd did not read the keyring\n"))
        }
        let end = try await command(
          "script", ["-qec", "kistd keyring-items", "/dev/null"], in: home)
        #expect(end.status == .exited(6), "\(end.output)")
      }
    }
  }

  extension SecretTool {
    /// Stores an item as the keyring library of Python does.
    fileprivate func storePythonItem(_ secret: String, user: String) async throws {
      try await store(
        secret.utf8, "application", "Python keyring library", "service", "pypi", "username", user)
    }
  }
#endif
