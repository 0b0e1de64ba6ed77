#if Libsecret
  import Dispatch
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import KistTesting
  import Testing

  /// What is asked of a storage that cannot answer.
  private let requests: [Request] = [
    .init("a save", isChange: true) { _ = try await $0.credentials.save(.sample()) },
    .init("a load") { _ = try await $0.credentials.load(.sample) },
    .init("a delete", isChange: true) { _ = try await $0.credentials.delete(.sample) },
    .init("a find") { _ = try await $0.credentials.find(CredentialQuery()) },
  ]

  @Suite(.requires(.dbusDaemon, .gdbus, .gnomeKeyring), .timeLimit(.minutes(10)))
  struct `A keyring that cannot be reached` {
    @Test(arguments: requests)
    func `for there is no bus is unavailable`(request: Request) async throws {
      let error = try await request.error(from: Libsecret.open(.init(busAddress: nil)))
      #expect(error.code == .unavailable)
      #expect(error.message.contains("no session bus"))
      #expect(error.hint != nil)
    }

    @Test(arguments: requests)
    func `for nothing listens at the address is unavailable`(request: Request) async throws {
      let error = try await request.error(
        from: Libsecret.open(.init(busAddress: "unix:path=/nonexistent/bus")))
      #expect(error.code == .unavailable)
      #expect(error.message.contains("nothing answers at the address of the session bus"))
    }

    @Test(arguments: ["garbage", "", "unix:nothing=x", "teleport:to=bus"])
    func `for its address is none is unavailable, and says so`(address: String) async throws {
      for request in requests {
        let error = try await request.error(from: Libsecret.open(.init(busAddress: address)))
        #expect(error.code == .unavailable)
        #expect(error.message.contains("the address of the session bus is not one"))
      }
    }

    @Test(arguments: requests)
    func `for the bus lets in nobody is a timeout at the deadline`(request: Request) async throws {
      try await withMuteSocket { address in
        let error = try await request.error(
          from: Libsecret.open(.init(busAddress: address, deadline: .milliseconds(300))))
        #expect(error.code == .timeout)
      }
    }

    @Test(arguments: requests)
    func `for the bus answers no Hello is a timeout at the deadline`(
      request: Request
    ) async throws {
      try await withPrivateBus { bus in
        try await withBusProxy(to: bus) { proxy in
          // A request that waits for the Hello gets it after all, and has another error.
          let hasEnded = DispatchSemaphore(value: 0)
          proxy.count(stoppingAt: .before(call: 1)) {
            _ = hasEnded.wait(timeout: .now() + .seconds(10))
          }
          let error = try await request.error(
            from: Libsecret.open(.init(busAddress: proxy.address, deadline: .milliseconds(300))))
          hasEnded.signal()
          #expect(error.code == .timeout)
        }
      }
    }

    @Test(arguments: requests)
    func `for nobody provides it is unavailable, and nobody is started`(
      request: Request
    ) async throws {
      try await withPrivateBus { bus in
        let error = try await request.error(from: Libsecret.open(.init(busAddress: bus.address)))
        #expect(error.code == .unavailable)
        #expect(error.message.contains("no program provides a keyring"))
      }
    }

    @Test(.timeLimit(.minutes(2)))
    func `is reported, and ends no client, while another program calls all the time`() async throws
    {
      try await withPrivateBus { bus in
        try await withBusProxy(to: bus) { proxy in
          proxy.callClient()
          let end = ContinuousClock.now + .seconds(4)
          while ContinuousClock.now < end {
            let error = try await requests[1].error(
              from: Libsecret.open(.init(busAddress: proxy.address)))
            #expect(error.code == .unavailable)
          }
        }
      }
    }

    @Test(arguments: requests)
    func `for its provider cannot be started is unavailable`(request: Request) async throws {
      try await withPrivateBus(activation: .exits(1)) { bus in
        let error = try await request.error(from: Libsecret.open(.init(busAddress: bus.address)))
        #expect(error.code == .unavailable)
        #expect(error.message.contains("could not be started"))
      }
    }

    @Test(arguments: requests)
    func `for its provider hangs while it starts is a timeout at the deadline`(
      request: Request
    ) async throws {
      try await withPrivateBus(activation: .hangs) { bus in
        let error = try await request.error(
          from: Libsecret.open(.init(busAddress: bus.address, deadline: .milliseconds(300))))
        #expect(error.code == .timeout)
      }
    }

    @Test(arguments: requests)
    func `for it has no collection is unavailable`(request: Request) async throws {
      try await withPrivateBus { bus in
        _ = try await GnomeKeyring(.none, on: bus)
        let error = try await request.error(from: Libsecret.open(.init(busAddress: bus.address)))
        #expect(error.code == .unavailable)
        #expect(error.message.contains("no default keyring"))
      }
    }

    @Test(arguments: requests)
    func `for it is locked is locked`(request: Request) async throws {
      try await withPrivateBus { bus in
        _ = try await GnomeKeyring(.locked, on: bus)
        let error = try await request.error(from: Libsecret.open(.init(busAddress: bus.address)))
        #expect(error.code == .locked)
      }
    }

    @Test func `for it is locked says so also of a credential that is in it`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.password("pw"), on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample())
        try await keyring.restart(.locked)
        for request in requests {
          #expect(try await request.error(from: storage).code == .locked, "\(request)")
        }
        try await keyring.restart(.password("pw"))
        #expect(try await storage.credentials.load(.sample).secret == NewCredential.sample().secret)
      }
    }

    @Test func `for nobody is there to answer its prompt stays locked`() async throws {
      try await withPrivateBus { bus in
        _ = try await GnomeKeyring(.locked, on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        let error = await #expect(throws: StorageError.self) {
          try await storage.access.unlock(nil)
        }
        #expect(error?.code == .locked)
        #expect(error?.hint?.contains("prompt") == true)
        #expect(try await storage.access.status().isLocked)
      }
    }

    @Test func `is reached again after its provider was killed and started again`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.password("pw"), on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample())
        try await keyring.kill()
        for request in requests {
          #expect(try await request.error(from: storage).code == .unavailable, "\(request)")
        }
        try await keyring.restart()
        #expect(try await storage.credentials.load(.sample).secret == NewCredential.sample().secret)
      }
    }

    @Test func `is reached again after the bus was killed and started again`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.password("pw"), on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample())
        await bus.kill()
        for request in requests {
          #expect(try await request.error(from: storage).code == .unavailable, "\(request)")
        }
        try await bus.restart()
        try await keyring.restart()
        #expect(try await storage.credentials.load(.sample).secret == NewCredential.sample().secret)
      }
    }

    @Test(arguments: [false, true])
    func `reports the end of the bus, even if the provider ended before`(
      providerEnds: Bool
    ) async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.password("pw"), on: bus)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let storage = Libsecret.open(
          .init(busAddress: bus.address, whenBusEnds: { end.yield() }))
        try await storage.credentials.save(.sample())
        if providerEnds {
          try await keyring.stop()
          #expect(try await requests[1].error(from: storage).code == .unavailable)
        }
        await bus.kill()
        for await _ in ends { break }
      }
    }

    @Test(arguments: requests)
    func `for the storage was closed is unavailable`(request: Request) async throws {
      try await withPrivateBus { bus in
        _ = try await GnomeKeyring(.password("pw"), on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample())
        await storage.close()
        #expect(try await request.error(from: storage).code == .unavailable)
      }
    }
  }
#endif
