#if Libsecret
  import Foundation
  import KistClient
  import KistKeyrings
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .timeLimit(.minutes(10)))
  struct `kistd migrate between a keyring and an encrypted file` {
    private let credentials = (0..<5).map { number in
      NewCredential(
        key: CredentialKey(service: "example.org", account: "\(number)"),
        secret: Secret(copying: Array(repeating: UInt8(number), count: number * 100)),
        label: "label \(number)", attributes: ["number": "\(number)"])
    }

    @Test func `moves credentials to the file and back, and kistd keeps the chosen storage`()
      async throws
    {
      try await withKeyring { home, bus, keyring in
        try await withDaemon(in: home) { daemon in
          for credential in credentials { try await daemon.connect().save(credential) }
          #expect(try await status(home).storage == "libsecret")
          // kistd does not move a storage that is in use.
          let refused = try await command("kistd", ["migrate", "--to", "encrypted-file"], in: home)
          #expect(refused.status == .exited(12), "\(refused.error)")
          #expect(refused.error.contains("\(daemon.processIdentifier)"))
        }
        let collection = try #require(try await bus.defaultCollection())
        #expect(try await bus.items(of: collection).count == credentials.count)

        try await migrate(to: "encrypted-file", in: home)
        #expect(try await bus.items(of: collection).isEmpty)
        try await withDaemon(in: home) { daemon in
          try await expectCredentials(daemon.connect())
          #expect(try await status(home).storage == "encrypted-file")
        }

        try await migrate(to: "libsecret", in: home)
        #expect(try await bus.items(of: collection).count == credentials.count)
        // While the keyring is unavailable, kistd does not use the file instead.
        try await keyring.stop()
        try await withDaemon(in: home, waitUntilReady: false) { daemon in
          try await poll("kistd answers") {
            do { _ = try await daemon.connect().findAll() } catch let error as StorageError {
              return error.message.contains("no program provides a keyring")
            }
            return false
          }
          try await keyring.restart()
          try await expectCredentials(daemon.connect())
        }
      }
    }

    @Test func `copies but removes nothing if another data directory uses the keyring`()
      async throws
    {
      try await withKeyring { home, _, _ in
        try await withDaemon(in: home) { daemon in
          try await daemon.connect().save(credentials[0])
        }
        for command in ["fsck", "rekey", "restore"] {
          let words = [command] + (command == "restore" ? ["backup"] : [])
          let end = try await EndToEndTests.command("kistd", words, in: home)
          #expect(end.status == .exited(7))
          #expect(end.error.contains("credentials are kept in the keyring"), "\(end.error)")
          #expect(end.error.contains(" --data"))
        }
        let other = ["--data", home.path + "/other"]
        let there = try await command("kistd", ["migrate", "--to", "libsecret"] + other, in: home)
        #expect(there.status == .exited(0), "\(there.error)")
        let back = try await command(
          "kistd", ["migrate", "--to", "encrypted-file"] + other, in: home)
        #expect(
          back.output == """
            copied 1 credential from the keyring to the encrypted file
            the keyring was not changed: kistd without --data keeps credentials there

            """)
        let again = try await command(
          "kistd", ["migrate", "--to", "encrypted-file"] + other, in: home)
        #expect(again.status == .exited(0), "\(again.error)")
        #expect(
          again.output == """
            credentials are kept in the encrypted file already; nothing was moved
            the keyring was not changed: kistd without --data keeps credentials there

            """)
        try await withDaemon(in: home) { daemon in
          let kept = try await daemon.connect().findAll()
          #expect(kept.count == 1)
        }
      }
    }

    @Test func `is not needed for a store in a directory that the user names`() async throws {
      try await withKeyring { home, bus, _ in
        let words = ["--data", home.path + "/other", "--", "sh", "-c"]
        let saved = try await command(
          "kistd", words + ["kist status && printf pw | kist save s"], in: home)
        #expect(saved.status == .exited(0), "\(saved.error)")
        #expect(saved.error.contains("made a new store, \(home.path)/other/credentials.db"))
        #expect(saved.output.contains("its directory was named"), "\(saved.output)")
        let collection = try #require(try await bus.defaultCollection())
        #expect(try await bus.items(of: collection).isEmpty)
      }
    }

    @Test func `fails to move to a locked keyring, but not to the file that is already in use`()
      async throws
    {
      try await withKeyring { home, _, keyring in
        try await withDaemon(in: home, ["--storage", "encrypted-file"]) { daemon in
          try await daemon.connect().save(credentials[0])
        }
        try await keyring.restart(.locked)
        let there = try await command("kistd", ["migrate", "--to", "encrypted-file"], in: home)
        #expect(there.status == .exited(0), "\(there.error)")
        #expect(there.output.contains("still has any: the keyring is still locked"))
        let away = try await command("kistd", ["migrate", "--to", "libsecret"], in: home)
        #expect(away.status == .exited(5), "\(away.output)")
        #expect(away.error.contains("hint: answer the prompt"))
        #expect(!away.error.contains("encrypted-file"))
      }
    }

    @Test(arguments: ["libsecret", "encrypted-file"])
    func `refuses to move if the pinned file is missing or replaced, and keeps the pin`(
      kind: String
    ) async throws {
      try await withKeyring { home, _, _ in
        let pin = home.path + "/.local/state/kist/storage"
        try await withDaemon(in: home, ["--storage", "encrypted-file"]) { daemon in
          try await daemon.connect().save(credentials[0])
        }
        let pinned = try String(contentsOfFile: pin, encoding: .utf8)
        try FileManager.default.moveItem(atPath: home.store, toPath: home.path + "/away")
        let gone = try await command("kistd", ["migrate", "--to", kind], in: home)
        #expect(gone.status == .exited(7), "\(gone.output)")
        #expect(!FileManager.default.fileExists(atPath: home.store))
        #expect(try String(contentsOfFile: pin, encoding: .utf8) == pinned)

        try FileManager.default.removeItem(atPath: pin)
        try await withDaemon(in: home, ["--storage", "encrypted-file"]) { daemon in
          try await daemon.connect().save(credentials[1])
        }
        try pinned.write(toFile: pin, atomically: true, encoding: .utf8)
        let another = try await command("kistd", ["migrate", "--to", kind], in: home)
        #expect(another.status == .exited(7), "\(another.output)")
        #expect(try String(contentsOfFile: pin, encoding: .utf8) == pinned)
      }
    }

    @Test func `moves nothing into a keyring whose place kist-secret-service is set up to take`()
      async throws
    {
      try await withKeyring(activation: .ofKist(["/usr/bin/false"])) { home, bus, _ in
        try await withDaemon(in: home, ["--storage", "encrypted-file"]) { daemon in
          try await daemon.connect().save(credentials[0])
        }
        let end = try await command("kistd", ["migrate", "--to", "libsecret"], in: home)
        #expect(end.status == .exited(6), "\(end.output)")
        #expect(end.error.contains("run `kist setup secret-service --undo` first"), "\(end.error)")
        let collection = try #require(try await bus.defaultCollection())
        #expect(try await bus.items(of: collection).isEmpty)
        try await withDaemon(in: home) { daemon in
          let kept = try await daemon.connect().findAll()
          #expect(kept.count == 1)
          #expect(try await status(home).storage == "encrypted-file")
        }
      }
    }

    @Test func `leaves items in the keyring whose names kist does not support`() async throws {
      try await withKeyring { home, bus, _ in
        try await withDaemon(in: home) { daemon in
          try await daemon.connect().save(credentials[0])
        }
        try await SecretTool(on: bus).store(
          "other".utf8, "service", "example.org", "account", String(repeating: "a", count: 1025),
          "xdg:schema", "io.kist.Credential")
        let end = try await command("kistd", ["migrate", "--to", "encrypted-file"], in: home)
        #expect(end.status == .exited(0), "\(end.error)")
        #expect(end.output.contains("moved 1 credential "))
        let collection = try #require(try await bus.defaultCollection())
        #expect(try await bus.items(of: collection).count == 1)
      }
    }

    @Test func `names a damaged item and moves nothing`() async throws {
      try await withKeyring { home, bus, _ in
        try await withDaemon(in: home) { daemon in
          try await daemon.connect().save(credentials[0])
        }
        try await SecretTool(on: bus).store(
          "kist1:!".utf8, "service", "example.net", "account", "bob", "xdg:schema",
          "io.kist.Credential")
        let end = try await command("kistd", ["migrate", "--to", "encrypted-file"], in: home)
        #expect(end.status == .exited(10), "\(end.output)")
        #expect(
          end.error.contains(
            "damaged: \(CredentialReference(CredentialKey(service: "example.net", account: "bob")))"
          ))
        let collection = try #require(try await bus.defaultCollection())
        #expect(try await bus.items(of: collection).count == 2)
      }
    }

    private func migrate(to kind: String, in home: Home) async throws {
      let end = try await command("kistd", ["migrate", "--to", kind], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      #expect(end.output.contains("moved \(credentials.count) credentials"))
    }

    private func status(_ home: Home) async throws -> StorageStatus {
      try await StorageAccess.remote(socketPath: home.socket).status()
    }

    private func expectCredentials(_ storage: UserStorage) async throws {
      #expect(try await storage.findAll().count == credentials.count)
      for credential in credentials {
        let loaded = try await storage.load(credential.key)
        #expect(loaded.secret == credential.secret)
        #expect(loaded.summary.label == credential.label)
        #expect(loaded.summary.attributes == credential.attributes)
      }
    }
  }
#endif
