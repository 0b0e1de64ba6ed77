#if SecretService
  import CSystemd
  import Glibc
  @testable import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  @testable import KistSecretServiceProgram
  import KistTesting
  import Synchronization
  import Testing

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `Replies that are not taken` {
    @Test func `stop the service from making more of them`() async throws {
      let storage = OpenStorage.inMemory()
      var functions = SecretService.Functions(storage)
      let isHeld = Flag(true)
      let (stuck, release) = AsyncStream.makeStream(of: Void.self)
      let loads = Mutex(0)
      functions.storage.load = { request throws(StorageError) in
        if isHeld.value { for await _ in stuck {} }
        loads.withLock { $0 += 1 }
        return try await storage.credentials.load(request)
      }
      try await withPrivateBus { bus in
        let service = Mutex<Bus?>(nil)
        _ = startService(on: bus.address) { [functions] connection in
          service.withLock { $0 = connection }
          return functions
        }
        try await poll("the service has its name") { try await bus.hasProvider() }
        let client = try await BusClient.connect(to: bus.address)
        let session = try await client.openPlainSession()
        let item = try await client.create(
          String(repeating: "x", count: 64 << 10), [("a", "b")], session: session)
        let calls = 1000
        await client.sendWithoutWaiting(calls, for: item, session: session)
        // sd-bus answers this when all calls before it have arrived.
        try await client.call(root, "org.freedesktop.DBus.Peer", "Ping")
        bus.pause()
        isHeld.value = false
        release.finish()
        // The thread of the service does everything that it can do.
        let thread = ThreadOfBus(try #require(service.withLock { $0 }))
        for _ in 0..<20_000 where loads.withLock({ $0 }) < calls { await thread.visit() }
        #expect(loads.withLock { $0 } < 500)
        bus.resume()
        #expect(try await client.search([("a", "b")]).unlocked == [item])
        #expect(loads.withLock { $0 } == calls)
      }
    }

    @Test func `stay within a number if they may be dropped`() async throws {
      try await withPrivateBus { bus in
        let client = try await BusClient.connect(to: bus.address)
        try await client.listen()
        bus.pause()
        #expect(await client.sendUnlessCongested(100_000) < 8000)
        #expect(await client.isCongested)
        bus.resume()
        try await poll("the bus takes everything") { await !client.isCongested }
      }
    }
  }

  @Suite(.timeLimit(.minutes(10))) struct `The calls of a prompter` {
    @Test func `are refused if too many wait, or if one is large`() throws {
      let inbox = Inbox()
      #expect(!inbox.add(try makeCall(Inbox.callBytes)))
      for _ in 0..<Inbox.calls { #expect(inbox.add(try makeCall(100))) }
      #expect(!inbox.add(try makeCall(100)))
      inbox.messages.removeFirst()
      #expect(inbox.add(try makeCall(100)))
    }

    /// Returns a call that can be read, as if it had arrived.
    private func makeCall(_ size: Int) throws -> BusMessage {
      var ends: [CInt] = [0, 0]
      try #require(unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
      defer { close(ends[1]) }
      var bus: OpaquePointer?
      unsafe mustSucceed(sd_bus_new(&bus))
      defer { unsafe sd_bus_unref(bus) }
      unsafe mustSucceed(sd_bus_set_fd(bus, ends[0], ends[0]))
      unsafe mustSucceed(sd_bus_start(bus))
      var message: OpaquePointer?
      unsafe mustSucceed(
        sd_bus_message_new_method_call(bus, &message, "a.b", "/", "a.b", "PromptReady"))
      let call = unsafe BusMessage(owning: message!)
      call.write([UInt8](repeating: 0, count: size))
      unsafe mustSucceed(sd_bus_message_seal(call.pointer, 1, 0))
      return call
    }
  }

  /// The thread of a bus, which a test can visit.
  private actor ThreadOfBus {
    private nonisolated let bus: Bus
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe bus.asUnownedSerialExecutor()
    }
    init(_ bus: Bus) { self.bus = bus }
    func visit() {}
  }

  extension BusClient {
    fileprivate var isCongested: Bool { bus.isCongested }

    /// Sends signals that may be dropped, and returns how many wait for the bus.
    fileprivate func sendUnlessCongested(_ count: Int) -> Int {
      for _ in 0..<count { bus.sendUnlessCongested(bus.makeSignal("/a", "a.b", "Changed")) }
      return bus.backlog
    }

    /// Asks for a secret many times at once.
    fileprivate func sendWithoutWaiting(_ count: Int, for item: String, session: String) {
      for _ in 0..<count {
        let call = bus.makeCall(
          to: "org.freedesktop.secrets", item, "org.freedesktop.Secret.Item", "GetSecret")
        call.write(path: session)
        bus.sendExpectingReply(call)
      }
    }
  }
#endif
