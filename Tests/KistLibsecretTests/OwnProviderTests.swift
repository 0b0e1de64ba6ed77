#if Libsecret
  import Foundation
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import KistTesting
  import Testing

  private let requests: [Request] = [
    .init("a save", isChange: true) { _ = try await $0.credentials.save(.sample()) },
    .init("a load") { _ = try await $0.credentials.load(.sample) },
    .init("a find") { _ = try await $0.credentials.find(CredentialQuery()) },
    .init("an unlock") { _ = try await $0.access.unlock(nil) },
    .init("a watch") { _ = try await $0.watch.begin(WatchRequest()) },
  ]

  @Suite(.requires(.dbusDaemon, .gdbus, .python), .timeLimit(.minutes(10)))
  struct `The Secret Service adapter of kist` {
    private static let words = "kist's own, kist-secret-service"

    @Test func `is not a keyring for kistd, which reads nothing from it`() async throws {
      try await withPrivateBus { bus in
        let items = [MockProvider.Item("example.org", "alice", value: "x")]
        let provider = try await MockProvider([.isKist], holding: items, on: bus)
        let options = Libsecret.Options(busAddress: bus.address)
        for request in requests {
          let error = try await request.error(from: Libsecret.open(options))
          #expect(error.code == .unavailable)
          #expect(error.message.contains(Self.words))
        }
        guard case .unusable(let error) = await Libsecret.probe(options) else {
          Issue.record("it can be used")
          return
        }
        #expect(error.message.contains(Self.words))
        #expect(provider.calls.allSatisfy { !$0.hasPrefix("Service.") }, "\(provider.calls)")
      }
    }

    @Test func `has no items to import`() async throws {
      try await withPrivateBus { bus in
        _ = try await MockProvider([.isKist], on: bus)
        let error = await #expect(throws: StorageError.self) {
          try await Libsecret.foreignItems(
            with: [["xdg:schema": "org.git.Password"]], prompting: false,
            .init(busAddress: bus.address))
        }
        #expect(error?.message.contains(Self.words) == true)
      }
    }

    @Test func `is not started by a request of kistd`() async throws {
      let mark = "/tmp/kist-started-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: mark) }
      try await withPrivateBus(activation: .ofKist(["/usr/bin/touch", mark])) { bus in
        for request in requests {
          let error = try await request.error(from: Libsecret.open(.init(busAddress: bus.address)))
          #expect(error.message.contains(Self.words))
        }
      }
      #expect(!FileManager.default.fileExists(atPath: mark))
    }

    @Test func `is recognised, running or not, and is not started for that`() async throws {
      let mark = "/tmp/kist-started-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: mark) }
      try await withPrivateBus(activation: .ofKist(["/usr/bin/touch", mark])) { bus in
        let options = Libsecret.Options(busAddress: bus.address)
        #expect(await Libsecret.provider(options) == .init(startable: .kist))
        let provider = try await MockProvider([.isKist], on: bus)
        let pid = Int(provider.processIdentifier)
        #expect(
          await Libsecret.provider(options) == .init(owner: .kist(pid: pid), startable: .kist))
      }
      #expect(!FileManager.default.fileExists(atPath: mark))
    }

    @Test(arguments: [[], [.locked]] as [[MockProvider.Behaviour]])
    func `is distinguished from another provider, whose items are counted`(
      behaviours: [MockProvider.Behaviour]
    ) async throws {
      try await withPrivateBus(activation: .command(["/usr/bin/false"])) { bus in
        let options = Libsecret.Options(busAddress: bus.address)
        #expect(await Libsecret.provider(options) == .init(startable: .other))
        let items = [MockProvider.Item("example.org", "alice", value: "x")]
        let provider = try await MockProvider(behaviours, holding: items, on: bus)
        let running = KeyringProvider.Running(
          pid: Int(provider.processIdentifier), items: behaviours.isEmpty ? 1 : 0,
          lockedItems: behaviours.isEmpty ? 0 : 1)
        #expect(
          await Libsecret.provider(options) == .init(owner: .other(running), startable: .other))
        #expect(!provider.calls.contains("Prompt.Prompt"))
      }
    }

    @Test func `is not looked for without a bus`() async {
      #expect(await Libsecret.provider(.init(busAddress: nil)) == nil)
      #expect(await Libsecret.provider(.init(busAddress: "unix:path=/nonexistent/bus")) == nil)
    }

    @Test func `does not hide another keyring that has the name`() async throws {
      try await withPrivateBus(activation: .ofKist(["/usr/bin/false"])) { bus in
        _ = try await MockProvider(on: bus)
        let storage = Libsecret.open(.init(busAddress: bus.address))
        try await storage.credentials.save(.sample())
        #expect(try await storage.credentials.load(.sample).secret == NewCredential.sample().secret)
        await storage.close()
      }
    }
  }
#endif
