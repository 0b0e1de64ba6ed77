#if SecretService
  import Foundation
  import Glibc
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  import KistTesting
  import Testing

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `A program on the bus` {
    @Test func `cannot make the service keep file descriptors`() async throws {
      try await withService { (client, _) async throws in
        await expectError("org.freedesktop.DBus.Error.InvalidArgs") {
          try await client.call(
            root, "org.freedesktop.Secret.Service", "SearchItems",
            { $0.write(descriptor: STDIN_FILENO) })
        }
        #expect(try await client.search([]).unlocked == [])
      }
    }

    @Test(.needsRoot("to call as another user"))
    func `of another user is refused`() async throws {
      try await withService { (client, bus) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("x", [("a", "b")], session: session)
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o711], ofItemAtPath: bus.session.folder)
        for (path, method, arguments) in [
          (root, "org.freedesktop.Secret.Service.SearchItems", ["{}"]),
          (root, "org.freedesktop.Secret.Service.OpenSession", ["plain", "<''>"]),
          (item, "org.freedesktop.Secret.Item.Delete", []),
          (root, "org.freedesktop.DBus.Introspectable.Introspect", []),
          (
            login, "org.freedesktop.DBus.Properties.Get",
            ["org.freedesktop.Secret.Collection", "Items"]
          ),
        ] {
          let refused = try await bus.run(
            "/usr/bin/setpriv",
            [
              "--reuid=nobody", "--regid=nogroup", "--clear-groups", "/usr/bin/gdbus", "call",
              "--address", bus.address, "--dest", "org.freedesktop.secrets", "--object-path", path,
              "--method", method,
            ] + arguments)
          #expect(refused.errors.contains("org.freedesktop.DBus.Error.AccessDenied"), "\(method)")
          #expect(refused.text.isEmpty)
        }
        #expect(try await client.secret(of: item, session: session).text == "x")
      }
    }

    @Test func `that sends 5,000 calls and reads no reply does not hold up others`() async throws {
      try await withService { (client, bus) async throws in
        let session = try await client.openPlainSession()
        let item = try await client.create("x", [("a", "b")], session: session)
        let silent = try await BusClient.connect(to: bus.address)
        let (stuck, release) = AsyncStream.makeStream(of: Void.self)
        async let silence: Void = silent.sendWithoutReading(5000, until: stuck)
        for _ in 0..<100 {
          #expect(try await client.secret(of: item, session: session).text == "x")
        }
        release.finish()
        await silence
        #expect(try await silent.search([("a", "b")]).unlocked == [item])
      }
    }

    @Test func `gets at most 1,024 of 10,000 sessions, and ten programs get 10,000`() async throws {
      try await withService { (client, bus) async throws in
        var refused = 0
        for _ in 0..<10_000 {
          do { _ = try await client.openPlainSession() } catch let error as BusError {
            #expect(error.name == limitsExceeded)
            refused += 1
          }
        }
        #expect(refused == 10_000 - ServiceLimits.sessions)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<10 {
            group.addTask {
              let other = try await BusClient.connect(to: bus.address)
              for _ in 0..<1000 { _ = try await other.openPlainSession() }
            }
          }
          try await group.waitForAll()
        }
      }
    }

    @Test func `gets at most 64 of 10,000 prompts`() async throws {
      var functions = SecretService.Functions(.inMemory())
      functions.access.status = {
        StorageStatus(
          storage: "memory", isLocked: true, unlocksWith: .passphrase, reopensAtRestart: false,
          durability: .memory, keyProtection: "none")
      }
      try await withService(functions) { (client, bus) async throws in
        var refused = 0
        for _ in 0..<10_000 {
          do { _ = try await client.move("Unlock", [login]) } catch let error as BusError {
            #expect(error.name == limitsExceeded)
            refused += 1
          }
        }
        #expect(refused == 10_000 - ServiceLimits.prompts)
        let other = try await BusClient.connect(to: bus.address)
        #expect(try await other.move("Unlock", [login]).prompt != "/")
      }
    }
  }

  @Suite(.needsBus, .timeLimit(.minutes(10))) struct `The bus of the service` {
    @Test func `that goes away ends it with a reason`() async throws {
      try await withPrivateBus { bus in
        let end = startService(.init(.inMemory()), on: bus.address)
        try await poll("the service has its name") { try await bus.hasProvider() }
        await bus.kill()
        try await poll("the service ends") { end.busErrors.count == 1 }
        #expect(end.busErrors[0].name == "org.freedesktop.DBus.Error.Disconnected")
      }
    }
  }

  extension BusClient {
    /// Sends calls whose replies are not read until the stream ends.
    fileprivate func sendWithoutReading(_ count: Int, until end: AsyncStream<Void>) async {
      for _ in 0..<count {
        let call = bus.makeCall(
          to: "org.freedesktop.secrets", root, "org.freedesktop.Secret.Service", "SearchItems")
        call.write([(name: String, value: String)]())
        bus.sendExpectingReply(call)
      }
      bus.flush()
      let released = DispatchSemaphore(value: 0)
      Task.detached {
        for await _ in end {}
        released.signal()
      }
      // The thread of the connection waits, so nothing is read.
      block(until: released)
    }

    private func block(until released: DispatchSemaphore) { released.wait() }
  }
#endif
