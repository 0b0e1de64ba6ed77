#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import KistTesting
  import Testing

  @Suite(.timeLimit(.minutes(10))) struct `A keyring that is to be locked` {
    @Test(.requires(.dbusDaemon, .gdbus, .gnomeKeyring))
    func `stays so without a password, too, until it is unlocked`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.blankPassword, on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample())
        #expect(try await storage.access.lock().isLocked)
        try await keyring.restart()
        let error = await #expect(throws: StorageError.self) {
          try await storage.credentials.load(.sample)
        }
        #expect(error?.code == .locked)
        #expect(try await storage.access.unlock(nil).isLocked == false)
        try await keyring.restart()
        #expect(try await storage.credentials.load(.sample).secret == NewCredential.sample().secret)
        await storage.close()
      }
    }

    @Test(.requires(.dbusDaemon, .gdbus, .python))
    func `is not opened by the connection that locks it`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.locked], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        #expect(try await storage.access.lock().isLocked)
        #expect(!provider.calls.contains("Service.Unlock"))
        await storage.close()
      }
    }

    @Test(.requires(.dbusDaemon, .gdbus, .python))
    func `is not opened by a new connection after a prompt that was dismissed`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.locked, .prompt(.dismissed)], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        #expect(try await storage.access.lock().isLocked)
        await #expect(throws: StorageError.self) { try await storage.access.unlock(nil) }
        let asked = provider.calls.filter { $0 == "Service.Unlock" }
        #expect(asked.count == 1)
        try await provider.restart([.locked])
        // On a busy machine the news of the end comes late, and a request that it meets is unavailable.
        let status = try? await storage.access.status()
        let isLocked =
          if let status { status.isLocked } else { try await storage.access.status().isLocked }
        #expect(isLocked)
        #expect(provider.calls.filter { $0 == "Service.Unlock" } == asked)
        await storage.close()
      }
    }

    @Test(.requires(.dbusDaemon, .gdbus, .gnomeKeyring))
    func `opens without a screen as the hint says`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.password("pw"), on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample())
        #expect(try await storage.access.lock().isLocked)
        let error = await #expect(throws: StorageError.self) {
          try await storage.access.unlock(nil)
        }
        #expect(
          error?.hint?.contains("`gnome-keyring-daemon --replace --unlock --components=secrets`")
            == true)
        try await keyring.replace(password: "pw")
        #expect(try await storage.credentials.load(.sample).secret == NewCredential.sample().secret)
        await storage.close()
      }
    }
  }
#endif
