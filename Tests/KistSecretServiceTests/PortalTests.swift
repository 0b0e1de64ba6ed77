#if SecretService
  import KistCore
  import KistKeyrings
  @testable import KistSecretService
  import KistTesting
  import Testing

  @Suite(.needsPortal, .timeLimit(.minutes(10))) struct `The Secret portal` {
    /// The file that `kist setup secret-service --apply` writes.
    private static let definition = """
      [portal]
      DBusName=org.freedesktop.impl.portal.desktop.kist
      Interfaces=org.freedesktop.impl.portal.Secret
      UseIn=kist

      """

    @Test func `gives each application in a sandbox a secret of its own, which stays`()
      async throws
    {
      let storage = OpenStorage.inMemory()
      try await withService(.init(storage)) { (_, bus) async throws in
        let portal = try await DesktopPortal(on: bus, definition: Self.definition)
        let first = try await portal.secrets(of: "org.example.First")
        #expect(try await portal.secrets(of: "org.example.First") == first)
        let second = try await portal.secrets(of: "org.example.Second")
        #expect(second.count == 1 && second != first)
        let stored = try await storage.credentials.load(
          CredentialKey(service: "org.freedesktop.portal.Secret", account: "org.example.First"))
        #expect(first == ["one 0 \(hexadecimal(stored.secret))"])
        #expect(stored.secret.count == 64)
        #expect(stored.summary.attributes["app_id"] == "org.example.First")
      }
    }

    @Test func `answers an application while another pipe has no space`() async throws {
      try await withService { (_, bus) async throws in
        let portal = try await DesktopPortal(on: bus, definition: Self.definition)
        let lines = try await portal.secrets(of: "org.example.App", ["full", "other"])
        #expect(lines.map { $0.prefix { $0 != " " } } == ["other", "full"], "\(lines)")
        let secrets = lines.map { $0.split(separator: " ").dropFirst() }
        #expect(secrets[0] == secrets[1])
        #expect(secrets[0].first == "0" && secrets[0].last?.utf8.count == 128)
      }
    }

    private static let handle = "/org/freedesktop/portal/desktop/request/1_1/t"

    @Test(
      arguments: [
        (handle, "", "pipe", nil), (handle, String(repeating: "a", count: 1024), "socket", nil),
        (handle, String(repeating: "a", count: 1025), "pipe", invalidArguments),
        (handle, "a\u{1B}", "pipe", invalidArguments), ("/x", "a", "pipe", invalidArguments),
        (handle, "a", "file", invalidArguments),
        (handle, "a", "closed", "org.freedesktop.DBus.Error.Failed"),
      ] as [(String, String, String, String?)])
    func `writes to pipes and sockets, and refuses what is over a limit or cannot be read`(
      handle: String, application: String, descriptor: String, error: String?
    ) async throws {
      try await withService { (_, bus) async throws in
        let answer = try await DesktopPortal.askBackEnd(
          on: bus, handle: handle, application: application, descriptor: descriptor)
        if let error {
          #expect(answer == error)
        } else {
          #expect(answer.hasPrefix("0 ") && answer.utf8.count == 2 + 128, "\(answer)")
        }
      }
    }

    private func hexadecimal(_ secret: Secret) -> String {
      secret.withBytes { bytes in
        bytes.indices.map { String(bytes[$0] >> 4, radix: 16) + String(bytes[$0] & 15, radix: 16) }
          .joined()
      }
    }
  }

  @Suite(.timeLimit(.minutes(10))) struct `The secret of an application` {
    private static let request = "/org/freedesktop/portal/desktop/request/1_1/t"

    private func ask(
      _ service: SecretService, for client: String = ":1.1"
    ) async throws -> PortalAnswer {
      try await service.applicationSecret(of: "a", request: Self.request, for: client)
    }

    @Test func `is not given while kist is locked and the user cannot be asked`() async throws {
      let lockable = Lockable()
      let service = try SecretService(lockable.functions(), machine: [])
      guard case .locked = try await ask(service) else {
        Issue.record("the answer is not that kist is locked")
        return
      }
      #expect(!service.isInUse)
    }

    @Test(arguments: [true, false])
    func `is given once the user has unlocked kist, and not if the user dismisses the prompt`(
      unlocks: Bool
    ) async throws {
      let lockable = Lockable()
      let asking = Asking(canAsk: { true }) { _ in
        unlocks ? .passphrase(Secret(utf8: Lockable.passphrase)) : .dismissed
      }
      let service = try SecretService(lockable.functions(asking: asking), machine: [])
      try await service.readAll()
      let answer = try await ask(service)
      if unlocks {
        guard case .secret(let secret) = answer else {
          Issue.record("kist gave no secret")
          return
        }
        #expect(secret.count == 64)
      } else {
        guard case .cancelled = answer else {
          Issue.record("the request was not cancelled")
          return
        }
      }
      #expect(!service.isInUse)
    }

    @MainActor @Test func `is no longer awaited when the portal closes the request`() async throws {
      let (asked, isAsked) = AsyncStream.makeStream(of: Void.self)
      let (closed, isClosed) = AsyncStream.makeStream(of: Void.self)
      let asking = Asking(canAsk: { true }) { _ in
        isAsked.finish()
        for await _ in closed {}
        return .dismissed
      }
      let service = try SecretService(Lockable().functions(asking: asking), machine: [])
      let answer = Task { try await ask(service) }
      for await _ in asked {}
      #expect(throws: ServiceError.noSuchObject) {
        try service.cancelRequest(Self.request, of: ":1.2")
      }
      #expect(service.isInUse)
      try service.cancelRequest(Self.request, of: ":1.1")
      #expect(!service.isInUse)
      isClosed.finish()
      guard case .cancelled = try await answer.value else {
        Issue.record("the request was not cancelled")
        return
      }
    }
  }
#endif
