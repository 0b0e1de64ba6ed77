#if SecretService
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  import KistTesting
  import Testing

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `Programs that change one item at once` {
    /// Functions whose saves let others run before they are performed, as those of kistd do.
    private static var functions: SecretService.Functions {
      let storage = OpenStorage.inMemory()
      var functions = SecretService.Functions(storage)
      functions.storage.save = { request throws(StorageError) in
        for _ in 0..<20 { await Task.yield() }
        return try await storage.credentials.save(request)
      }
      return functions
    }

    @Test func `all replace it`() async throws {
      try await withService(Self.functions) { (client, bus) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("first", [("a", "b")], session: session)
        try await withThrowingTaskGroup(of: String.self) { group in
          for number in 0..<24 {
            group.addTask {
              let program = try await BusClient.connect(to: bus.address)
              let session = try await program.openPlainSession()
              var path = ""
              for round in 0..<4 {
                path = try await program.create(
                  "\(number) \(round)", [("a", "b")], session: session)
              }
              return path
            }
          }
          for try await path in group { #expect(path == item) }
        }
        #expect(try await client.search([]).unlocked == [item])
      }
    }

    @Test func `all set its label`() async throws {
      try await withService(Self.functions) { (client, bus) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("first", [("a", "b")], session: session)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<24 {
            group.addTask {
              let program = try await BusClient.connect(to: bus.address)
              for _ in 0..<4 { try await program.setLabel("label \(number)", of: item) }
            }
          }
          try await group.waitForAll()
        }
        #expect(try await client.text("Label", of: item, "Item").hasPrefix("label "))
      }
    }
  }
#endif
