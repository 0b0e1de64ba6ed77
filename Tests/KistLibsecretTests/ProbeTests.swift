#if Libsecret
  import KistCore
  import KistKeyrings
  import KistLibsecret
  import Testing

  @Suite(.requires(.dbusDaemon, .gdbus, .python), .timeLimit(.minutes(10)))
  struct `A look at a keyring` {
    private static let ours = MockProvider.Item("example.org", "alice", value: "x")
    private static let damaged = MockProvider.Item("a", "b", ["kist": "???"], value: "x")
    private static let others = [
      MockProvider.Item("example.org", "alice", ["more": "x"], value: "x"),
      MockProvider.Item("a\nb", "alice", value: "x"),
    ]

    @Test(arguments: [
      ([], false), ([ours], true), ([damaged], true), (others, false), (others + [ours], true),
    ])
    func `reports whether there are credentials that kist serves`(
      items: [MockProvider.Item], hasCredentials: Bool
    ) async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider(holding: items, on: bus)
        let probe = await Libsecret.probe(.init(busAddress: bus.address))
        #expect(probe == .open(hasCredentials: hasCredentials))
        #expect(!provider.calls.contains("Service.GetSecrets"))
      }
    }

    @Test func `reports that it is locked, and shows no prompt`() async throws {
      try await withPrivateBus { bus in
        let provider = try await MockProvider([.locked, .prompt(.accepted)], on: bus)
        #expect(await Libsecret.probe(.init(busAddress: bus.address)) == .locked)
        #expect(!provider.calls.contains("Prompt.Prompt"))
      }
    }

    @Test(
      arguments: [
        ([MockProvider.Behaviour.noDefaultCollection], .seconds(30), "default keyring"),
        ([.mute()], .seconds(3), "did not answer"),
        ([.answersWrongTypes()], .seconds(30), "specification"),
      ] as [([MockProvider.Behaviour], Duration, String)])
    func `reports that it cannot be used, and why`(
      behaviours: [MockProvider.Behaviour], deadline: Duration, reason: String
    ) async throws {
      try await withPrivateBus { bus in
        _ = try await MockProvider(behaviours, on: bus)
        let probe = await Libsecret.probe(.init(busAddress: bus.address, deadline: deadline))
        guard case .unusable(let error) = probe else {
          Issue.record("it can be used: \(probe)")
          return
        }
        #expect(error.message.contains(reason))
      }
    }
  }
#endif
