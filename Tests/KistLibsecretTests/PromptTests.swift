#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import KistTesting
  import Testing

  @Suite(.timeLimit(.minutes(10))) struct `A prompt that nobody answers in time` {
    @Test(.requires(.dbusDaemon, .gdbus, .gnomeKeyring, .prompter, .xvfb))
    func `does not end gnome-keyring`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.locked, on: bus)
        _ = try await Prompter(on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address, deadline: .seconds(5)))
        for _ in 0..<2 {
          let error = await #expect(throws: StorageError.self) {
            try await storage.access.unlock(nil)
          }
          #expect(error?.code == .timeout)
          #expect(error?.message.contains("prompt") == true)
          #expect(try await storage.access.status().isLocked)
          #expect(try await storage.access.lock().isLocked)
        }
        await storage.close()
        #expect(keyring.isRunning)
      }
    }

    @Test(.requires(.dbusDaemon, .gdbus, .gnomeKeyring, .prompter, .xvfb))
    func `does not end gnome-keyring where another client connects`() async throws {
      try await withPrivateBus { bus in
        let keyring = try await GnomeKeyring(.locked, on: bus)
        _ = try await Prompter(on: bus)
        let first = Libsecret.open(.init(busAddress: bus.address, deadline: .seconds(5)))
        await #expect(throws: StorageError.self) { try await first.access.unlock(nil) }
        // It looks whether the keyring opens without a prompt, while that of the first is shown.
        let second = Libsecret.open(.init(busAddress: bus.address))
        #expect(try await second.access.status().isLocked)
        await second.close()
        await first.close()
        let third = Libsecret.open(.init(busAddress: bus.address))
        #expect(try await third.access.status().isLocked)
        await third.close()
        #expect(keyring.isRunning)
      }
    }

    @Test(.requires(.dbusDaemon, .gdbus, .python))
    func `ends with the bus`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.locked, .prompt(.neverCompletes)], on: bus)
        try await withBusProxy(to: bus) { proxy in
          let storage = Libsecret.open(.init(busAddress: proxy.address))
          let unlock = Task { try await storage.access.unlock(nil) }
          try await poll("the prompt is shown") { provider.calls.contains("Prompt.Prompt") }
          proxy.cut()
          let error = await #expect(throws: StorageError.self) { _ = try await unlock.value }
          #expect(error?.code == .unavailable)
          await storage.close()
        }
      }
    }

    @Test(.requires(.dbusDaemon, .gdbus, .python))
    func `stays, and a second request waits for it`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.locked, .prompt(.answered)], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address, deadline: .seconds(10)))
        let error = await #expect(throws: StorageError.self) {
          try await storage.access.unlock(nil)
        }
        #expect(error?.code == .timeout)
        let asked = provider.calls.count
        let second = Task { try await storage.access.unlock(nil) }
        try await poll("it is asked again") { provider.calls.count > asked }
        try provider.answerPrompts()
        #expect(try await second.value.isLocked == false)
        #expect(provider.calls.filter { $0 == "Prompt.Prompt" }.count == 1)
        #expect(!provider.calls.contains("Prompt.Dismiss"))
        await storage.close()
      }
    }

    @Test(.requires(.dbusDaemon, .gdbus, .python))
    func `opens the keyring when it is answered later`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.locked, .prompt(.answered)], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address, deadline: .seconds(10)))
        await #expect(throws: StorageError.self) { try await storage.access.unlock(nil) }
        #expect(provider.calls.contains("Prompt.Prompt"))
        try provider.answerPrompts()
        try await poll("the keyring is open") { try await !storage.access.status().isLocked }
        try await storage.credentials.save(.sample())
        await storage.close()
      }
    }

    @Test(.requires(.dbusDaemon, .gdbus, .python))
    func `is dismissed if it precedes a change`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider(
          [.createAsksPrompt, .prompt(.neverCompletes)], on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address, deadline: .seconds(4)))
        let error = await #expect(throws: StorageError.self) {
          try await storage.credentials.save(.sample())
        }
        #expect(error?.code == .timeout)
        try await poll("it is taken back") { provider.calls.contains("Prompt.Dismiss") }
        await storage.close()
      }
    }
  }
#endif
