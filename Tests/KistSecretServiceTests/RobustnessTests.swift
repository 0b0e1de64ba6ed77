#if SecretService
  import KistBus
  import KistCore
  import KistKeyrings
  @testable import KistSecretService
  import KistTesting
  import Testing

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `A credential from another client of kistd` {
    @Test(arguments: ["a b", "", "é", "a/b", "session"])
    func `with an invalid collection is an item of the default one`(
      collection: String
    ) async throws {
      let storage = OpenStorage.inMemory()
      try await storage.credentials.save(
        .sample(attributes: ["a": "b", "kist:item": "1", "kist:collection": collection]))
      try await withService(.init(storage)) { (client, _) async throws in
        let found = try await client.search([("a", "b")]).unlocked
        #expect(found.count == 1 && found[0].hasPrefix(login + "/"))
        #expect(try await client.paths("Items", of: login, "Collection") == found)
        let session = try await client.openPlainSession()
        #expect(try await client.secret(of: found[0], session: session).text == "correct horse")
      }
    }

    @Test(arguments: [0xFFFE, 0xFDD0, 0x10FFFF, 0] as [UInt32])
    func `keeps a text that D-Bus cannot send, which is not seen there`(
      scalar: UInt32
    ) async throws {
      let storage = OpenStorage.inMemory()
      let text = "x\(try #require(Unicode.Scalar(scalar)))y"
      let isValidKey = scalar != 0
      let key = CredentialKey(service: isValidKey ? text : "s", account: "alice")
      let attributes: Attributes = ["hidden": text, "url": "u", "kist:content-type": text]
      try await storage.credentials.save(
        .sample(key, label: isValidKey ? text : nil, attributes: attributes))
      try await withService(.init(storage)) { (client, _) async throws in
        let item = try #require(try await client.search([("url", "u")]).unlocked.first)
        #expect(try await client.attributes(of: item)["hidden"] == nil)
        #expect(try await client.attributes(of: item)["url"] == "u")
        #expect(
          try await client.text("Label", of: item, "Item")
            == (isValidKey ? "x\u{FFFD}y" : "s alice"))
        let session = try await client.openPlainSession()
        _ = try await client.secret(of: item, session: session)

        try await client.setSecret("new", of: item, session: session)
        #expect(try await storage.credentials.load(key).summary.attributes["hidden"] == text)
        try await client.setAttributes([("url", "v")], of: item)
        let loaded = try await storage.credentials.load(key)
        #expect(loaded.summary.attributes["hidden"] == text)
        #expect(loaded.summary.attributes["url"] == "v")
        #expect(loaded.secret == Secret(utf8: "new"))
        let seen = try await client.attributes(of: item).sorted
        #expect(try await client.create("newer", seen, session: session) == item)
        let replaced = try await storage.credentials.load(key)
        #expect(replaced.summary.attributes["hidden"] == text)
        #expect(replaced.secret == Secret(utf8: "newer"))
      }
    }

    @Test func `may name more collections than the index keeps`() throws {
      var index = ItemIndex(hashing: try Hashing(machine: []), numbers: ItemNumbers())
      for number in 0..<70_000 {
        index.insert(
          .sample(
            CredentialKey(service: "s\(number)"), attributes: ["kist:collection": "c\(number)"]))
      }
      #expect(index.count == 70_000)
      #expect(index.find([:], in: Collection.login).count > 60_000)
    }
  }

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `The limits of the service` {
    @Test(arguments: [defaultAlias, root + "/aliases/session"])
    func `include the content type of an item`(collection: String) async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let type = String(repeating: "x", count: Limits.attributeValue)
        let item = try await client.create(
          "x", [("a", "b")], in: collection, session: session, contentType: type)
        await expectError(limitsExceeded) {
          _ = try await client.create(
            "y", [("a", "b")], in: collection, session: session, contentType: type + "x")
        }
        await expectError(limitsExceeded) {
          try await client.setSecret("y", of: item, session: session, contentType: type + "x")
        }
        #expect(try await client.secret(of: item, session: session) == ("x", type))
      }
    }

    @Test func `count one secret for a path that is repeated`() async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let first = try await client.create("1", [("a", "b")], session: session)
        let second = try await client.create("2", [("a", "c")], session: session)
        let paths = Array(repeating: first, count: 1000) + [second, first]
        #expect(try await client.pathsOfSecrets(paths, session: session) == [first, second])
      }
    }

    @Test func `count every part of a secret`() {
      let sent = SentSecret(
        session: "/s", parameters: [1, 2, 3], value: Secret(utf8: "1234"), contentType: "12345")
      #expect(sent.size == 14)
    }

    @Test func `include the bytes of the calls that wait`() async throws {
      let storage = OpenStorage.inMemory()
      var functions = SecretService.Functions(storage)
      let (stuck, release) = AsyncStream.makeStream(of: Void.self)
      let isStuck = Flag(false)
      functions.storage.save = { request throws(StorageError) in
        isStuck.value = true
        for await _ in stuck {}
        return try await storage.credentials.save(request)
      }
      try await withService(functions) { (client, bus) async throws in
        let session = try await client.openPlainSession()
        async let item = client.create("x", [("a", "b")], session: session)
        try await poll("the first call is being answered") { isStuck.value }
        let part = ServiceLimits.waitingBytes / 4
        let errors = try await withThrowingTaskGroup(of: String?.self) { group in
          for _ in 0..<5 { group.addTask { await client.errorOfLargeCall(part) } }
          // Two are refused at once. The others wait.
          var errors: [String?] = []
          for _ in 0..<2 { errors.append(try await group.next() ?? nil) }
          let other = try await BusClient.connect(to: bus.address)
          #expect(try await other.search([("a", "b")]).unlocked == [])
          release.finish()
          for try await error in group { errors.append(error) }
          return errors
        }
        #expect(
          errors == [limitsExceeded, limitsExceeded] + Array(repeating: invalidArguments, count: 3))
        // Its calls are served as before.
        #expect(try await client.search([("a", "b")]).unlocked == [item])
      }
    }

    @Test func `include the attributes of a search while kist is locked`() async throws {
      let storage = OpenStorage.inMemory()
      var functions = SecretService.Functions(
        storage, asking: Asking(canAsk: { true }, passphrase: { _ in .dismissed }))
      functions.access.status = {
        StorageStatus(
          storage: "memory", isLocked: true, unlocksWith: .passphrase, reopensAtRestart: false,
          durability: .memory, keyProtection: "none")
      }
      try await withService(functions) { (client, _) async throws in
        let large = String(repeating: "x", count: ServiceLimits.lockedSearchBytes - 1)
        #expect(try await client.search([("a", large)]).locked.count == 1)
        await expectError(limitsExceeded) { _ = try await client.search([("a", large + "x")]) }
      }
    }
  }

  extension BusClient {
    fileprivate func attributes(of item: String) async throws -> Attributes {
      try await call(
        item, "org.freedesktop.DBus.Properties", "Get",
        { call in
          call.write("org.freedesktop.Secret.Item")
          call.write("Attributes")
        },
        read: { reply in
          try reply.readVariant(of: "a{ss}") { () throws(BusError) in try reply.readTexts() }
        })
    }

    fileprivate func setAttributes(
      _ attributes: [(name: String, value: String)], of item: String
    ) async throws {
      try await call(item, "org.freedesktop.DBus.Properties", "Set") { call in
        call.write("org.freedesktop.Secret.Item")
        call.write("Attributes")
        call.writeVariant(of: "a{ss}") { call.write(attributes) }
      }
    }

    fileprivate func setSecret(
      _ secret: String, of item: String, session: String, contentType: String = "text/plain"
    ) async throws {
      try await call(item, "org.freedesktop.Secret.Item", "SetSecret") { call in
        call.writeStructure(of: "oayays") {
          call.write(path: session)
          call.write([UInt8]())
          call.write(Array(secret.utf8))
          call.write(contentType)
        }
      }
    }

    /// Returns the paths in the reply to GetSecrets.
    fileprivate func pathsOfSecrets(
      _ paths: [String], session: String
    ) async throws -> [String] {
      try await call(
        root, "org.freedesktop.Secret.Service", "GetSecrets",
        { call in
          call.write(paths: paths)
          call.write(path: session)
        },
        read: { reply in
          var found: [String] = []
          try reply.readArray(of: "{o(oayays)}") { () throws(BusError) in
            try reply.readEntry(of: "o(oayays)") { () throws(BusError) in
              found.append(try reply.readPath())
              try reply.skip("(oayays)")
            }
          }
          return found
        })
    }

    /// Sends a wrong call with this many bytes, and returns the name of its error.
    fileprivate func errorOfLargeCall(_ count: Int) async -> String? {
      do {
        try await call(root, "org.freedesktop.Secret.Service", "SearchItems") { call in
          call.write([UInt8](repeating: 0, count: count))
        }
        return nil
      } catch { return (error as? BusError)?.name }
    }
  }

  extension CredentialSummary {
    fileprivate static func sample(_ key: CredentialKey, attributes: Attributes) -> Self {
      CredentialSummary(
        key: key, attributes: attributes, createdAt: .sample, modifiedAt: .sample,
        revision: Revision(rawValue: "r.1"))
    }
  }
#endif
