#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import KistTesting
  import Testing

  @Suite(.requires(.dbusDaemon, .gdbus, .gnomeKeyring, .secretTool), .timeLimit(.minutes(10)))
  struct `Other programs on the same keyring` {
    private let key = CredentialKey(service: "example.org", account: "alice")

    @Test func `read a plain password that kist saved`() async throws {
      try await withKeyring { storage, tool in
        try await storage.save(NewCredential(key: key, secret: Secret(utf8: "correct horse")))
        let found = try await tool.lookup("service", "example.org", "account", "alice")
        #expect(found.text == "correct horse")
      }
    }

    @Test func `save what kist reads, under kist's schema`() async throws {
      try await withKeyring { storage, tool in
        try await tool.store(
          "battery".utf8, label: "a label", "service", "example.org", "account", "alice",
          "xdg:schema", "io.kist.Credential")
        let loaded = try await storage.load(key)
        #expect(loaded.secret == Secret(utf8: "battery"))
        #expect(loaded.summary.label == "a label")
        #expect(try await storage.findAll().map(\.key) == [key])
        // Its revision is good for a change, and is another one after it.
        let summary = try await storage.save(
          NewCredential(key: key, secret: Secret(utf8: "staple")),
          if: .ifRevision(loaded.summary.revision))
        #expect(summary.revision != loaded.summary.revision)
        #expect(try await storage.load(key).secret == Secret(utf8: "staple"))
        #expect(try await storage.findAll().count == 1)
      }
    }

    @Test func `store over what kist saved, which drops its expiry and its attributes`()
      async throws
    {
      try await withKeyring { storage, tool in
        try await storage.save(
          NewCredential(
            key: key, secret: Secret(utf8: "old"), attributes: ["a": "b"],
            expiresAt: Timestamp(rfc3339: "2101-01-01T00:00:00Z")))
        try await tool.store(
          "new".utf8, "service", "example.org", "account", "alice", "xdg:schema",
          "io.kist.Credential")
        let loaded = try await storage.load(key)
        #expect(loaded.secret == Secret(utf8: "new"))
        #expect(loaded.summary.expiresAt == nil)
        #expect(loaded.summary.attributes == [:])
      }
    }

    @Test func `store without an account what kist does not see`() async throws {
      try await withKeyring { storage, tool in
        try await tool.store(
          "x".utf8, "service", "example.org", "xdg:schema", "io.kist.Credential")
        #expect(try await storage.findAll().isEmpty)
        try await tool.store(
          "x".utf8, "service", "example.org", "account", "", "xdg:schema", "io.kist.Credential")
        #expect(try await storage.findAll().map(\.key) == [CredentialKey(service: "example.org")])
      }
    }

    @Test(arguments: [
      (String(repeating: "a", count: 1025), "alice"),
      ("example.org", String(repeating: "a", count: 1025)), ("example.org", "a\u{9C}b"),
    ])
    func `save under names that kist cannot serve, which it does not list, and leaves`(
      service: String, account: String
    ) async throws {
      try await withPrivateBus { bus in
        _ = try await GnomeKeyring(.password("pw"), on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        let stored = try await SecretTool(on: bus).store(
          "other".utf8, "service", service, "account", account, "xdg:schema", "io.kist.Credential")
        #expect(stored.status == 0)
        #expect(try await storage.credentials.findAll().isEmpty)
        try await storage.credentials.save(NewCredential(key: key, secret: Secret(utf8: "ours")))
        #expect(try await storage.credentials.findAll().map(\.key) == [key])
        #expect(try await storage.access.status().count == 1)
        #expect(try await storage.credentials.delete(key))
        let collection = try #require(try await bus.defaultCollection())
        #expect(try await bus.items(of: collection).count == 1)
      }
    }

    @Test func `keep their items when kist saves, replaces and deletes`() async throws {
      try await withPrivateBus { bus in
        _ = try await GnomeKeyring(.password("pw"), on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address)).credentials
        let collection = try #require(try await bus.defaultCollection())
        let neighbours = try await Neighbours(on: bus)
        let before = try await bus.items(of: collection)

        for secret in ["first", "second"] {
          try await storage.save(NewCredential(key: key, secret: Secret(utf8: secret)))
          #expect(try await storage.load(key).secret == Secret(utf8: secret))
          let items = try await bus.items(of: collection)
          #expect(items.count == before.count + 1)
          #expect(Set(items).isSuperset(of: before))
        }
        #expect(try await storage.delete(key))
        #expect(try await storage.delete(key) == false)
        #expect(Set(try await bus.items(of: collection)) == Set(before))
        #expect(try await neighbours.areUntouched())
      }
    }

    private func withKeyring(
      _ body: (UserStorage, SecretTool) async throws -> Void
    ) async throws {
      try await withPrivateBus { bus in
        _ = try await GnomeKeyring(.password("pw"), on: bus)
        try await body(
          Libsecret.open(.init(busAddress: bus.address)).credentials, SecretTool(on: bus))
      }
    }
  }
#endif
