#if SecretService
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  import KistTesting
  import Testing

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `An item of the Secret Service` {
    @Test func `has a label with U+FFFD for each control character`() async throws {
      let storage = OpenStorage.inMemory()
      try await withService(.init(storage)) { (client, _) async throws in
        let session = try await client.openPlainSession()
        let attributes = [(name: "url", value: "a\tb")]
        for _ in ["creates", "replaces"] {
          let item = try await client.create(
            "x", attributes, label: "a\tb\u{1B}\u{7F}\u{9B}é", session: session)
          #expect(
            try await client.text("Label", of: item, "Item")
              == "a\u{FFFD}b\u{FFFD}\u{FFFD}\u{FFFD}é")
          #expect(try await client.search(attributes).unlocked == [item])
        }
      }
    }

    @Test(arguments: [defaultAlias, root + "/aliases/session"])
    func `has a label within the limit, without control characters`(
      collection: String
    ) async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let label = String(repeating: "x", count: Limits.label)
        let item = try await client.create(
          "x", [("a", "b")], label: label, in: collection, session: session)
        await expectError(limitsExceeded) {
          _ = try await client.create(
            "y", [("a", "b")], label: label + "x", in: collection, session: session)
        }
        await expectError(limitsExceeded) { try await client.setLabel(label + "x", of: item) }
        #expect(try await client.text("Label", of: item, "Item") == label)
        try await client.setLabel("a\u{1B}[2Jb", of: item)
        #expect(try await client.text("Label", of: item, "Item") == "a\u{FFFD}[2Jb")
        let other = try await client.create(
          "y", [("a", "c")], label: "\u{1B}c", in: collection, session: session)
        #expect(try await client.text("Label", of: other, "Item") == "\u{FFFD}c")
        try await client.setLabel("a\u{1B}b", of: collection, "Collection")
        #expect(try await client.text("Label", of: collection, "Collection") == "a\u{FFFD}b")
      }
    }

    // To Unicode, the letter K and the sign of kelvin are equal.
    @Test(arguments: [defaultAlias, root + "/aliases/session"])
    func `has each attribute whose name differs in its bytes`(collection: String) async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let both = [(name: "K", value: "letter"), (name: "\u{212A}", value: "sign")]
        let item = try await client.create("x", both, in: collection, session: session)
        let attributes = try await client.call(
          item, "org.freedesktop.DBus.Properties", "Get",
          { call in
            call.write("org.freedesktop.Secret.Item")
            call.write("Attributes")
          },
          read: { reply in
            try reply.readVariant(of: "a{ss}") { () throws(BusError) in try reply.readTexts() }
          })
        #expect(attributes == Attributes(lastOf: both))
        #expect(attributes.count == 2)
        for attribute in both { #expect(try await client.search([attribute]).unlocked == [item]) }
        #expect(try await client.search([("K", "sign")]).unlocked == [])
        let letter = try await client.create("y", [both[0]], in: collection, session: session)
        #expect(letter != item)
      }
    }

    @Test func `that has expired is found, but has no secret, until a program replaces it`()
      async throws
    {
      let clock = ManualClock()
      let storage = OpenStorage.inMemory(now: clock.now)
      try await withService(.init(storage)) { (client, _) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("old", [("a", "b")], session: session)
        let found = try #require(try await storage.credentials.findAll().first)
        try await storage.credentials.save(
          NewCredential(
            key: found.key, secret: Secret(utf8: "old"), label: "label",
            attributes: found.attributes, expiresAt: clock.now().advanced(bySeconds: 60)))
        #expect(try await client.secret(of: item, session: session).text == "old")
        clock.advance(bySeconds: 61)
        #expect(try await client.search([("a", "b")]).unlocked == [item])
        #expect(try await client.text("Label", of: item, "Item") == "label")
        await expectError("org.freedesktop.DBus.Error.Failed") {
          _ = try await client.secret(of: item, session: session)
        }
        let count = try await client.call(
          root, "org.freedesktop.Secret.Service", "GetSecrets",
          { call in
            call.write(paths: [item])
            call.write(path: session)
          },
          read: { reply in
            var count = 0
            try reply.readArray(of: "{o(oayays)}") { () throws(BusError) in
              try reply.skip("{o(oayays)}")
              count += 1
            }
            return count
          })
        #expect(count == 0)
        #expect(try await client.create("new", [("a", "b")], session: session) == item)
        #expect(try await client.secret(of: item, session: session).text == "new")
      }
    }

    @Test func `is a credential under the natural key of its attributes`() async throws {
      let storage = OpenStorage.inMemory()
      try await withService(.init(storage)) { (client, _) async throws in
        let session = try await client.openPlainSession()
        _ = try await client.create(
          "x", [("service", "gh:github.com"), ("username", "alice")], session: session)
        let loaded = try await storage.credentials.load(
          CredentialKey(service: "gh:github.com", account: "alice"))
        #expect(loaded.secret == Secret(utf8: "x"))
        #expect(loaded.summary.label == "label")
      }
    }

    @Test func `gets another key if a credential has its natural one, which stays unchanged`()
      async throws
    {
      let storage = OpenStorage.inMemory()
      let key = CredentialKey(service: "s", account: "u")
      try await storage.credentials.save(.sample(key, secret: "old"))
      try await withService(.init(storage)) { (client, _) async throws in
        let session = try await client.openPlainSession()
        let attributes = [(name: "service", value: "s"), (name: "username", value: "u")]
        let item = try await client.create("new", attributes, session: session)
        #expect(try await storage.credentials.load(key).secret == Secret(utf8: "old"))
        #expect(try await client.search(attributes).unlocked == [item])
        #expect(try await storage.credentials.findAll().count == 2)
      }
    }

    @Test func `of a credential of kist has the attributes that a keyring has`() async throws {
      let storage = OpenStorage.inMemory()
      try await storage.credentials.save(.sample(attributes: ["url": "x"]))
      try await withService(.init(storage)) { (client, _) async throws in
        let found = try await client.search([
          ("xdg:schema", "io.kist.Credential"), ("service", "example.org"), ("account", "alice"),
          ("url", "x"),
        ])
        #expect(found.unlocked.count == 1)
      }
    }

    @Test func `is replaced only by one with exactly the same attributes`() async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let more = try await client.create("1", [("a", "b"), ("c", "d")], session: session)
        let fewer = try await client.create("2", [("a", "b")], session: session)
        #expect(more != fewer)
        #expect(try await client.create("3", [("a", "b")], session: session) == fewer)
        #expect(try await client.secret(of: more, session: session).text == "1")
        #expect(try await client.secret(of: fewer, session: session).text == "3")
      }
    }

    @Test func `may have the same attributes as another one`() async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let first = try await client.create("1", [("a", "b")], replace: false, session: session)
        let second = try await client.create("2", [("a", "b")], replace: false, session: session)
        // The newest comes first, even within one second.
        #expect(try await client.search([("a", "b")]).unlocked == [second, first])
        #expect(try await client.search([]).unlocked == [second, first])
      }
    }

    @Test func `keeps its content type, and has no reserved attribute on the bus`() async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create(
          "x", [("a", "b")], session: session, contentType: "application/json")
        #expect(try await client.secret(of: item, session: session).type == "application/json")
        let attributes = try await client.call(
          item, "org.freedesktop.DBus.Properties", "Get",
          { call in
            call.write("org.freedesktop.Secret.Item")
            call.write("Attributes")
          },
          read: { reply in
            try reply.readVariant(of: "a{ss}") { () throws(BusError) in try reply.readTexts() }
          })
        #expect(attributes == ["a": "b"])
      }
    }

    @Test func `keeps its path when it is replaced, and never gets the path of a deleted one`()
      async throws
    {
      // The clock does not move, so both items are created at the same time.
      let storage = OpenStorage.inMemory(now: { .sample })
      try await withService(.init(storage)) { (client, _) async throws in
        let session = try await client.openPlainSession()
        let first = try await client.create("1", [("a", "b")], session: session)
        try await client.call(first, "org.freedesktop.Secret.Item", "Delete")
        let second = try await client.create("2", [("a", "b")], session: session)
        #expect(first != second)
        await expectError(noSuchObject) {
          _ = try await client.secret(of: first, session: session)
        }
      }
    }

    @Test func `has the same path after a restart of the service`() async throws {
      let storage = OpenStorage.inMemory()
      func path() async throws -> String {
        try await withService(.init(storage)) { (client, _) async throws in
          try await client.create(
            "1", [("a", "b")], session: try await client.openPlainSession())
        }
      }
      let before = try await path()
      #expect(try await path() == before)
    }

    @Test func `is found, and not found, as other programs change kist`() async throws {
      let storage = OpenStorage.inMemory()
      try await withService(.init(storage)) { (client, _) async throws in
        #expect(try await client.search([("service", "example.org")]).unlocked == [])
        try await client.listen()
        try await storage.credentials.save(.sample())
        try await poll("the item is found") {
          try await client.search([("service", "example.org")]).unlocked.count == 1
        }
        let path = try await client.search([("service", "example.org")]).unlocked[0]
        try await storage.credentials.delete(.sample)
        try await poll("the item is gone") {
          try await client.search([("service", "example.org")]).unlocked.isEmpty
        }
        try await poll("all signals arrive") {
          let signals = await client.signals
          return signals.contains("ItemCreated \(path)") && signals.contains("ItemDeleted \(path)")
            && signals.contains("PropertiesChanged org.freedesktop.Secret.Collection")
        }
      }
    }

    @Test(arguments: [
      (["kist:item": "x"], invalidArguments),
      (["a": String(repeating: "b", count: 1025)], limitsExceeded),
    ])
    func `with attributes that kist cannot keep is refused, and nothing of it is kept`(
      attributes: [String: String], error: String
    ) async throws {
      let storage = OpenStorage.inMemory()
      try await withService(.init(storage)) { (client, _) async throws in
        let session = try await client.openPlainSession()
        await expectError(error) {
          _ = try await client.create(
            "x", attributes.map { ($0.key, $0.value) }, session: session)
        }
        #expect(try await storage.credentials.findAll().isEmpty)
      }
    }

    @Test func `with a secret over the limit is refused, and others are served`() async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        await expectError(limitsExceeded) {
          _ = try await client.create(
            String(repeating: "x", count: 8 << 20), [("a", "b")], session: session)
        }
        #expect(try await client.search([("a", "b")]).unlocked == [])
      }
    }

    @Test func `in the collection session is never saved`() async throws {
      let storage = OpenStorage.inMemory()
      try await withService(.init(storage)) { (client, _) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create(
          "x", [("a", "b")], in: root + "/aliases/session", session: session)
        #expect(item.hasPrefix(root + "/collection/session/"))
        #expect(try await client.secret(of: item, session: session).text == "x")
        #expect(try await client.search([("a", "b")]).unlocked == [item])
        #expect(try await storage.credentials.findAll().isEmpty)
      }
    }
  }
#endif
