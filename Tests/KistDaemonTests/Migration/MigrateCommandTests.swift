#if Libsecret
  import ArgumentParser
  import Foundation
  import KistCore
  import KistFile
  import KistSodium
  import KistTesting
  import Testing

  @testable import KistDaemon

  /// Without a session bus, there is no keyring.
  @Suite(.timeLimit(.minutes(10))) struct `kistd migrate without a keyring` {
    @Test func `from the keyring says that credentials are there, and makes no file`() async throws
    {
      try await withDirectory { home in
        let pin = Pin(kind: .libsecret, storeID: nil)
        try pinFile(in: home).write(pin, insteadOf: nil)
        let error = try await migrate(to: "encrypted-file", in: home, endsWith: 7).error
        #expect(error.contains("; credentials are kept in the keyring"))
        #expect(!error.contains("encrypted"), "the migration is to that storage")
        #expect(mode(of: home + "/.local/share/kist") == nil)
        #expect(try pinFile(in: home).read() == pin)
      }
    }

    @Test func `to the keyring needs no passphrase where credentials are kept there already`()
      async throws
    {
      try await withDirectory { home in
        var options = EncryptedFile.Options(
          path: home + "/.local/share/kist/credentials.db",
          keySource: .passphrase(Secret(utf8: "a passphrase")))
        options.passphraseCost = .least
        await (try await EncryptedFile.open(options)).close()
        try pinFile(in: home).write(Pin(kind: .libsecret, storeID: nil), insteadOf: nil)
        let output = try await migrate(to: "libsecret", in: home, endsWith: 0).output
        #expect(output.hasPrefix("credentials are kept in the keyring already"), "\(output)")
      }
    }

    @Test func `to the file, of nothing, names the command that starts with the file`() async throws
    {
      try await withDirectory { home in
        let error = try await migrate(to: "encrypted-file", in: home, endsWith: 7).error
        #expect(error.contains("`kistd --detach --storage encrypted-file`"))
        #expect(try pinFile(in: home).read() == nil)
      }
    }

    @Test func `to the file, where credentials are kept there, is done already`() async throws {
      try await withDirectory { home in
        let file = try await EncryptedFile.open(
          EncryptedFile.Options(
            path: home + "/.local/share/kist/credentials.db",
            keySource: .keyFile(path: home + "/.local/state/kist/key")))
        try await file.credentials.save(.sample())
        await file.close()
        try pinFile(in: home).write(Pin(kind: .encryptedFile, storeID: file.id), insteadOf: nil)
        let output = try await migrate(to: "encrypted-file", in: home, endsWith: 0).output
        #expect(output.hasPrefix("credentials are kept in the encrypted file already"))
        #expect(output.contains("there is no session bus"))
        let json = try await migrate(to: "encrypted-file", ["--json"], in: home, endsWith: 0).output
        #expect(
          json.hasPrefix(
            #"{"from":"libsecret","to":"encrypted-file","isInUse":true,"count":0,"#
              + #""keepsSource":false,"differing":[],"damaged":[],"unchecked":{"code":"unavailable","#
          ), "\(json)")
        let error = try await migrate(to: "libsecret", in: home, endsWith: 7).error
        #expect(error.contains("there is no session bus"))
      }
    }

    @Test(arguments: ["encrypted-file", "libsecret"])
    func `beside a running kistd is status 12, with the command that stops that kistd`(
      kind: String
    ) async throws {
      try await withDirectory { home in
        let file = try await EncryptedFile.open(
          EncryptedFile.Options(
            path: home + "/.local/share/kist/credentials.db",
            keySource: .keyFile(path: home + "/.local/state/kist/key")))
        let ofFile = try await migrate(to: kind, in: home, endsWith: 12).error
        #expect(ofFile.contains("the store is in use by pid \(getpid())\n"), "\(ofFile)")
        await file.close()
        let lock = try ProcessLock(at: home + "/.local/state/kist/keyring.lock", hint: "") { _ in
          .notFound
        }
        let ofKeyring = try await migrate(to: kind, in: home, endsWith: 12).error
        #expect(ofKeyring.contains("a kistd serves the keyring, pid \(getpid())\n"))
        for error in [ofFile, ofKeyring] {
          #expect(error.contains("hint: stop it: `kill \(getpid())`\n"), "\(error)")
        }
        lock.release()
      }
    }

    @Test func `to the keyring is refused if kist's provider takes the place of that keyring`() {
      let error = #expect(throws: StorageError.self) {
        try checkThatKeyringStays(KeyringProvider(owner: .other(.init(pid: 9)), startable: .kist))
      }
      #expect(error?.outcome == .unchanged && error?.hint?.contains("--undo") == true)
      for startable in [nil, KeyringProvider.Startable.other] {
        #expect(throws: Never.self) {
          try checkThatKeyringStays(
            KeyringProvider(owner: .other(.init(pid: 9)), startable: startable))
        }
      }
    }

    @Test func `to the keyring is refused where that would lose data of a later version`()
      async throws
    {
      try await withDirectory { home in
        let golden = URL(filePath: #filePath).deletingLastPathComponent()
          .appending(path: "../../KistFileTests/Golden")
        let store = home + "/.local/share/kist/credentials.db"
        let key = home + "/.local/state/kist/key"
        for (path, name) in [(store, "v1-extended.db"), (key, "v1-key-file.key")] {
          try FileManager.default.createDirectory(
            at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
          try Data(contentsOf: golden.appending(path: name)).write(to: URL(filePath: path))
          try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: path)
        }
        let before = try Data(contentsOf: URL(filePath: store))
        let error = try await migrate(to: "libsecret", in: home, endsWith: 6).error
        #expect(error.contains("added data to 1 credential, which would be lost in the keyring"))
        #expect(try Data(contentsOf: URL(filePath: store)) == before)
        #expect(try pinFile(in: home).read() == nil)
      }
    }

    @Test func `that is locked in the middle has the hint to run it again`()
      async throws
    {
      let source = UserStorage.inMemory()
      try await source.save(.sample())
      var locked = source
      locked.load = { _ throws(StorageError) in throw .locked("the keyring is locked") }
      let migration = Migration(
        source: locked, target: .inMemory(), isSwitched: false, switchPin: {})
      let error = try #require(
        await #expect(throws: StorageError.self) { try await migration.runAsCommand() })
      #expect(error.code == .locked)
      #expect(error.hint?.contains("run `kistd migrate` again") == true)
    }

    @Test func `removes nothing from a source that another store also uses`() async throws {
      let source = UserStorage.inMemory()
      let target = UserStorage.inMemory()
      try await source.save(.sample())
      let migration = Migration(
        source: source, target: target, isSwitched: false, keepsSource: true, switchPin: {})
      #expect(try await migration.run() == .moved(1, left: []))
      #expect(try await source.findAll().count == 1)
      #expect(try await target.findAll().count == 1)
    }

    @Test func `names a command that deletes, with the path of the store quoted`() throws {
      for (path, word) in [("/d/kist", "/d/kist"), ("/d/a b;c", "'/d/a b;c'")] {
        let options = try Kistd.parse(["--data", path]).options(
          environment: { $0 == "HOME" ? "/d" : nil }, isFile: { _ in false })
        #expect(
          options.deletion(from: .encryptedFile)
            == "`kistd --storage encrypted-file --data \(word) -- kist delete SERVICE ACCOUNT`")
      }
    }

    private func pinFile(in home: String) -> PinFile {
      PinFile(path: home + "/.local/state/kist/storage")
    }

    private func migrate(
      to kind: String, _ options: [String] = [], in home: String, endsWith status: CInt
    ) async throws -> (output: String, error: String) {
      let end = await #expect(
        processExitsWith: .exitCode(status),
        observing: [\.standardOutputContent, \.standardErrorContent]
      ) { [words = ["migrate", "--to", kind] + options as [String], home = home as String] in
        await runKistd(words, home: home)
      }
      let result = try #require(end)
      return (
        String(decoding: result.standardOutputContent, as: UTF8.self),
        String(decoding: result.standardErrorContent, as: UTF8.self)
      )
    }
  }
#endif
