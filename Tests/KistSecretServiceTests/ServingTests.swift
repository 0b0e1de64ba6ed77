#if SecretService
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  import KistTesting
  import Testing

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `The service on a bus` {
    @Test(.needsSecretTool) func `serves secret-tool`() async throws {
      try await withService { (_, bus) async throws in
        let tool = SecretTool(on: bus)
        try await tool.store("first".utf8, "service", "s", "username", "u")
        #expect(try await tool.lookup("service", "s").text == "first")
        try await tool.store("second".utf8, "service", "s", "username", "u")
        #expect(try await tool.lookup("username", "u").text == "second")
        #expect(try await tool.search("service", "s").text.contains("secret = second"))
        #expect(try await tool.lookup("service", "t").status == 1)
        #expect(try await tool.clear("service", "s").status == 0)
        #expect(try await tool.lookup("service", "s").status == 1)
      }
    }

    @Test func `ends with a reason if another program has the name`() async throws {
      try await withService { (_, bus) async throws in
        let end = startService(.init(.inMemory()), on: bus.address)
        try await poll("the second service ends") { !end.reasons.isEmpty }
        #expect(end.reasons.map { $0?.code } == [.unavailable])
      }
    }

    @Test func `takes no other name if another program has one of its names`() async throws {
      try await withPrivateBus { bus in
        let other = try await BusClient.connect(to: bus.address)
        try await other.takeName("io.kist.SecretService")
        let end = startService(.init(.inMemory()), on: bus.address)
        try await poll("the service ends") { !end.reasons.isEmpty }
        #expect(try await !bus.hasProvider())
      }
    }

    @Test func `ends when no program uses it`() async throws {
      try await withPrivateBus { bus in
        let end = startService(
          .init(.inMemory()), on: bus.address, idleExit: .milliseconds(100))
        try await poll("the service ends") { end.reasons.count == 1 }
        #expect(end.reasons == [nil])
        #expect(try await !bus.hasProvider())
      }
    }

    @Test func `reports that kistd is away, and serves again once it is back`() async throws {
      let storage = OpenStorage.inMemory()
      try await storage.credentials.save(.sample())
      let isAway = Flag(true)
      let away = StorageError(.unavailable, "kistd is not running")
      var functions = SecretService.Functions(storage)
      functions.storage.find = { query throws(StorageError) in
        if isAway.value { throw away }
        return try await storage.credentials.find(query)
      }
      functions.watch = WatchCredentials { request throws(StorageError) in
        if isAway.value { throw away }
        return try await storage.watch.begin(request)
      }
      try await withService(functions) { (client, _) async throws in
        await expectError("org.freedesktop.DBus.Error.Failed") {
          _ = try await client.search([("service", "example.org")])
        }
        isAway.value = false
        #expect(try await client.search([("service", "example.org")]).unlocked.count == 1)
      }
    }

    @Test func `answers a program while kistd does not answer another one`() async throws {
      let storage = OpenStorage.inMemory()
      var functions = SecretService.Functions(storage)
      let (stuck, release) = AsyncStream.makeStream(of: Void.self)
      functions.storage.save = { request throws(StorageError) in
        for await _ in stuck {}
        return try await storage.credentials.save(request)
      }
      try await withService(functions) { (client, bus) async throws in
        let session = try await client.openPlainSession()
        async let item = client.create("x", [("a", "b")], session: session)
        let other = try await BusClient.connect(to: bus.address)
        #expect(try await other.search([("a", "b")]).unlocked == [])
        release.finish()
        // The calls of one program are answered in order.
        #expect(try await client.search([("a", "b")]).unlocked == [item])
      }
    }

    @Test(arguments: [
      (
        root, "org.freedesktop.Secret.Service", "Nothing",
        "org.freedesktop.DBus.Error.UnknownMethod"
      ),
      (root, "org.example.Nothing", "Nothing", "org.freedesktop.DBus.Error.UnknownInterface"),
      (root, "org.freedesktop.Secret.Service", "SearchItems", invalidArguments),
      (login, "org.freedesktop.Secret.Collection", "CreateItem", invalidArguments),
      (root + "/collection/nothing", "org.freedesktop.Secret.Collection", "Delete", noSuchObject),
      (login + "/nothing", "org.freedesktop.Secret.Item", "Delete", noSuchObject),
      (login + "/i0000000000000000", "org.freedesktop.Secret.Item", "Delete", noSuchObject),
      (root + "/session/s9", "org.freedesktop.Secret.Session", "Close", noSuchObject),
      (root + "/prompt/p9", "org.freedesktop.Secret.Prompt", "Dismiss", noSuchObject),
      ("/nothing", "org.freedesktop.Secret.Item", "Delete", noSuchObject),
      (
        login, "org.freedesktop.Secret.Collection", "Delete",
        "org.freedesktop.DBus.Error.NotSupported"
      ),
    ])
    func `answers a wrong call with the error of its kind`(
      path: String, interface: String, member: String, error: String
    ) async throws {
      try await withService { (client, _) async throws in
        await expectError(error) { try await client.call(path, interface, member) }
      }
    }

    @Test func `describes its whole tree`() async throws {
      try await withService { (client, _) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("x", [("a", "b")], session: session)
        var nodes = ["/"]
        var seen: Set<String> = []
        while let node = nodes.popLast() {
          seen.insert(node)
          let text = try await client.call(
            node, "org.freedesktop.DBus.Introspectable", "Introspect",
            read: { try $0.readString() })
          for child in text.matches(of: /<node name="(\w+)"\/>/) {
            nodes.append(node == "/" ? "/\(child.1)" : "\(node)/\(child.1)")
          }
          if node == item { #expect(text.contains("<method name=\"GetSecret\">")) }
        }
        #expect(seen.isSuperset(of: [root, login, item, defaultAlias]))
      }
    }
  }

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `A collection of the Secret Service` {
    @Test func `is kept, and has the path that its label encodes to`() async throws {
      let storage = OpenStorage.inMemory()
      let item = try await withService(.init(storage)) { (client, _) async throws in
        let collection = try await client.makeCollection("aws vault_1")
        #expect(collection == root + "/collection/aws_20vault_5f1")
        let session = try await client.openPlainSession()
        return try await client.create("x", [("a", "b")], in: collection, session: session)
      }
      try await withService(.init(storage)) { (client, _) async throws in
        let collection = root + "/collection/aws_20vault_5f1"
        #expect(
          try await client.paths("Collections", of: root, "Service").contains(collection))
        #expect(try await client.text("Label", of: collection, "Collection") == "aws vault_1")
        #expect(try await client.paths("Items", of: collection, "Collection") == [item])
        #expect(try await client.paths("Items", of: login, "Collection") == [])
        // Nobody can be asked, so its items stay.
        await expectError("org.freedesktop.DBus.Error.AccessDenied") {
          try await client.call(collection, "org.freedesktop.Secret.Collection", "Delete")
        }
        try await client.call(item, "org.freedesktop.Secret.Item", "Delete")
        try await client.call(collection, "org.freedesktop.Secret.Collection", "Delete")
        #expect(try await storage.credentials.findAll().isEmpty)
      }
    }

    @Test func `that the alias default leads to is not made again`() async throws {
      try await withService { (client, _) async throws in
        #expect(try await client.makeCollection("other", alias: "default") == login)
        await expectError("org.freedesktop.DBus.Error.NotSupported") {
          _ = try await client.makeCollection("other", alias: "another")
        }
      }
    }
  }
#endif
