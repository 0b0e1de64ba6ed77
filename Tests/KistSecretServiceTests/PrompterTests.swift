#if SecretService
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  @testable import KistSecretServiceProgram
  import KistTesting
  import Testing

  @Suite(.serialized, .needsBus, .needsPrompter, .timeLimit(.minutes(3)))
  struct `The prompter of the desktop` {
    /// Runs a test with a service that asks with the prompter.
    private func withPrompter(
      _ functions: @escaping @Sendable (Asking) -> SecretService.Functions,
      _ body: (BusClient, Screen) async throws -> Void
    ) async throws {
      try await withPrivateBus { bus in
        let prompter = try await Prompter(on: bus)
        _ = startService(on: bus.address) { connection in
          functions(
            Asking(
              UserPrompts(
                connection, OpenStorage.inMemory().access, pinentry: nil, findDisplay: { _ in nil })
            ))
        }
        try await poll("the service has its name") { try await bus.hasProvider() }
        try await body(try await BusClient.connect(to: bus.address), prompter.screen)
      }
    }

    @Test func `unlocks kist for a program, after a typo`() async throws {
      let lockable = Lockable()
      try await withPrompter({ lockable.functions(asking: $0) }) { client, screen in
        let (_, locked) = try await client.search([("service", "example.org")])
        #expect(locked.count == 1)
        let prompt = try await client.move("Unlock", locked).prompt
        try await client.show(prompt, window: "0x1")
        let first = try await screen.waitForWindow()
        try await screen.type("typo", "Return", in: first)
        let second = try await screen.waitForWindow(after: first)
        try await screen.type(Lockable.passphrase, "Return", in: second)
        try await poll("the prompt ends") { await client.completed.count == 1 }
        #expect(await client.completed[0].paths.count == 1)
        #expect(try await client.search([]).unlocked == client.completed[0].paths)
      }
    }

    @Test func `dismisses the prompt if the user cancels, and closes if the program dismisses it`()
      async throws
    {
      let lockable = Lockable()
      try await withPrompter({ lockable.functions(asking: $0) }) { client, screen in
        for isCancelled in [true, false, true] {
          let count = await client.completed.count
          let prompt = try await client.move("Unlock", [login]).prompt
          try await client.show(prompt)
          let window = try await screen.waitForWindow()
          if isCancelled {
            try await screen.type("", "Escape", in: window)
          } else {
            try await client.dismiss(prompt)
          }
          try await poll("the prompt ends") { await client.completed.count == count + 1 }
          #expect(await client.completed[count] == (true, "ao", []))
          try await poll("the window closes") { try await !screen.hasWindow() }
        }
      }
    }

    @Test func `confirms that a collection is deleted`() async throws {
      let storage = OpenStorage.inMemory()
      try await withPrompter({ .init(storage, asking: $0) }) { client, screen in
        let collection = try await client.makeCollection("a\u{202E}b")
        let session = try await client.openPlainSession()
        _ = try await client.create("x", [("a", "b")], in: collection, session: session)
        for (key, isDeleted) in [("Escape", false), ("Return", true)] {
          let count = await client.completed.count
          try await client.show(try await client.delete(collection: collection))
          try await screen.type("", key, in: try await screen.waitForWindow())
          try await poll("the prompt ends") { await client.completed.count == count + 1 }
          #expect(await client.completed[count].isDismissed == !isDeleted)
          #expect(try await storage.credentials.findAll().isEmpty == isDeleted)
          try await poll("the window closes") { try await !screen.hasWindow() }
        }
      }
    }
  }

  @Suite(.timeLimit(.minutes(10))) struct `The exchange of a passphrase with a prompter` {
    @Test(arguments: [
      "", "[sx-aes-1]", "[sx-aes-1]\npublic=", "[sx-aes-1]\npublic=!\n",
      "[sx-aes-1]\npublic=AQ==\n",
      "[sx-aes-2]\npublic=Ag==\n", "public=Ag==\n",
    ])
    func `does not begin with a message without a valid key`(message: String) {
      #expect(SecretExchange(message) == nil)
    }

    @Test(arguments: [
      "", "[sx-aes-1]\n", "[sx-aes-1]\nsecret=AAAA\niv=AAAA\n",
      "[sx-aes-1]\nsecret=AAAAAAAAAAAAAAAAAAAAAA==\n",
    ])
    func `has no passphrase in a message without a valid one`(message: String) throws {
      let exchange = try #require(SecretExchange("[sx-aes-1]\npublic=Ag==\n"))
      #expect(exchange.passphrase(in: message) == nil)
    }
  }
#endif
