#if Libsecret
  import KistClient
  import KistKeyrings
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .timeLimit(.minutes(10)))
  struct `kistd on a keyring` {
    /// Every operation on a credential; `make leaks` runs this with kistd under valgrind.
    @Test func `saves, loads, finds and deletes credentials, and exits with 0`() async throws {
      try await withKeyring { home, bus, keyring in
        let end = try await withDaemon(
          in: home, ["--storage", "libsecret"], waitUntilReady: false
        ) { daemon in
          let storage = daemon.connect()
          try await poll("kistd answers") { (try? await storage.findAll()) != nil }
          for number in 0..<25 { try await use(number, storage) }
          // Twice, to distinguish a leak for each connection from a leak for each process.
          for _ in 0..<2 {
            try await keyring.restart()
            #expect(try await storage.findAll().count == 10)
          }
          for number in 25..<50 { try await use(number, storage) }
          #expect(try await storage.findAll().count == 10)
          for number in 0..<10 { #expect(try await storage.delete(key(number))) }
          #expect(try await storage.delete(key(0)) == false)
          await #expect(throws: StorageError.self) { try await storage.load(key(0)) }
          #expect(try await storage.findAll().isEmpty)
        }
        #expect(end.status == .exited(0))
        let collection = try #require(try await bus.defaultCollection())
        #expect(try await bus.items(of: collection).isEmpty)
      }
    }

    private func use(_ number: Int, _ storage: UserStorage) async throws {
      let text = String(repeating: "\(number)\n", count: 1 + number * 100)
      let credential = NewCredential(
        key: key(number % 10), secret: Secret(utf8: text), label: "\(number)",
        attributes: ["number": "\(number)"])
      try await storage.save(credential)
      for _ in 0..<4 { #expect(try await storage.load(credential.key).secret == credential.secret) }
      await #expect(throws: StorageError.self) { try await storage.save(credential, if: .ifAbsent) }
    }

    private func key(_ number: Int) -> CredentialKey {
      CredentialKey(service: "example.org", account: "\(number)")
    }
  }
#endif
