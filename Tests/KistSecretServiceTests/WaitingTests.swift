#if SecretService
  import Glibc
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  import KistTesting
  import Testing

  @Suite(.needsBus, .timeLimit(.minutes(5))) struct `A call that waits for kistd` {
    /// Runs a test with an item of a service whose loads wait until a pipe can be read.
    private func withWaitingLoads(
      for duration: Duration,
      _ body: (BusClient, PrivateBus, _ item: String, _ hasBegun: Flag, _ end: CInt) async throws ->
        Void
    ) async throws {
      var pipe: [CInt] = [-1, -1]
      try #require(unsafe Glibc.pipe(&pipe) == 0)
      defer { for descriptor in pipe { close(descriptor) } }
      let (reading, hasBegun) = (pipe[0], Flag(false))
      try await withPrivateBus { [pipe] bus in
        _ = startService(on: bus.address) { serviceBus in
          let storage = OpenStorage.inMemory()
          var functions = SecretService.Functions(storage)
          functions.storage.load = { request throws(StorageError) in
            hasBegun.value = true
            await serviceBus.waitToRead(reading, until: .now + duration)
            return try await storage.credentials.load(request)
          }
          return functions
        }
        try await poll("the service has its name") { try await bus.hasProvider() }
        let client = try await BusClient.connect(to: bus.address)
        let session = try await client.openPlainSession()
        let item = try await client.create("hunter2", [("a", "b")], session: session)
        try await body(client, bus, item, hasBegun, pipe[1])
      }
    }

    @Test func `delays no other program, and continues when the reply can be read`() async throws {
      try await withWaitingLoads(for: .seconds(600)) { client, bus, item, hasBegun, end in
        let session = try await client.openPlainSession()
        async let secret = client.secret(of: item, session: session).text
        try await poll("the load has begun") { hasBegun.value }
        let other = try await BusClient.connect(to: bus.address)
        #expect(try await other.search([("a", "b")]).unlocked == [item])
        #expect(unsafe write(end, "x", 1) == 1)
        #expect(try await secret == "hunter2")
      }
    }

    @Test func `continues at its deadline`() async throws {
      try await withWaitingLoads(for: .milliseconds(20)) { client, _, item, _, _ in
        let session = try await client.openPlainSession()
        #expect(try await client.secret(of: item, session: session).text == "hunter2")
      }
    }
  }
#endif
