import KistCore
import KistTesting
import KistWire
import Testing

/// What a client makes of replies that it did not expect.
@Suite(.timeLimit(.minutes(5))) struct LineClientTests {
  @Test func `unknown keys are ignored`() async throws {
    let storage = Endpoints.remote(
      over: replying(
        #"{"new":{"a":[1]},"ok":true,"deleted":true,"more":null,"id":3}"#)
    ).credentials
    #expect(try await storage.delete(.sample))
    let failing = Endpoints.remote(
      over: replying(
        #"{"ok":false,"error":{"code":"locked","message":"m","new":1},"more":2}"#)
    ).credentials
    #expect(
      await error { () throws(StorageError) in try await failing.load(.sample) }
        == StorageError(.locked, "m"))
  }

  @Test func `an unknown code is internal, an unknown outcome is unknown`()
    async
  {
    let storage = Endpoints.remote(
      over: replying(
        #"{"ok":false,"error":{"code":"melted","message":"m","hint":"h","outcome":"partly"}}"#)
    ).credentials
    #expect(
      await error { () throws(StorageError) in try await storage.delete(.sample) }
        == StorageError(.internal, "m", hint: "h", outcome: .unknown))
  }

  @Test func `unknown words of a status are kept`() async throws {
    let access = Endpoints.remote(
      over: replying(
        #"{"ok":true,"status":{"storage":"new","locked":true,"unlocksWith":"a song","#
          + #""reopensAtRestart":false,"durability":"stone","keyProtection":"k","#
          + #""integrity":"fair"}}"#)
    ).access
    let status = try await access.status()
    #expect(status.unlocksWith?.rawValue == "a song")
    #expect(status.durability.rawValue == "stone")
    #expect(status.integrity?.rawValue == "fair")
  }

  @Test func `an unknown kind of key slot is kept`() async throws {
    let slots = Endpoints.remote(
      over: replying(
        #"{"ok":true,"slots":[{"number":1,"kind":"unknown"},"#
          + #"{"number":9,"kind":"tpm2","pcrs":[7],"passes":2}]}"#)
    ).keySlots
    #expect(
      try await slots.list() == [
        KeySlotSummary(number: 1, kind: .unknown),
        KeySlotSummary(number: 9, kind: .init(rawValue: "tpm2"), passes: 2),
      ])
  }

  @Test(arguments: [
    "", "canary", "[]", "{}", #"{"ok":"true","deleted":true}"#, #"{"ok":null}"#,
    #"{"ok":false}"#, #"{"ok":false,"error":"canary"}"#, #"{"ok":false,"error":{"code":"full"}}"#,
    #"{"ok":false,"error":{"message":"canary"}}"#, #"{"ok":true}"#,
    #"{"ok":true,"deleted":"canary"}"#,
    #"{"ok":true,"deleted":true,"deleted":true}"#, #"{"ok":true,"deleted":true"#,
    #"{"ok":true,"credential":{"service":"canary","attributes":{}}}"#,
  ])
  func `an unreadable reply is an internal error, and the outcome of a change is unknown`(
    reply: String
  ) async throws {
    let storage = Endpoints.remote(over: replying(reply)).credentials
    let errors = [
      await error { () throws(StorageError) in try await storage.delete(.sample) },
      await error { () throws(StorageError) in
        try await storage.save(NewCredential(key: .sample, secret: Secret(utf8: "s")))
      },
    ]
    for error in errors {
      let error = try #require(error)
      #expect(error.code == .internal)
      #expect(error.outcome == .unknown)
      #expect(error.hint != nil)
      #expect(!error.message.contains("canary"))
    }
  }

  @Test func `a kistd that does not know keep is named, and nothing is said to be saved`() async {
    let storage = Endpoints.remote(over: kistdWithoutKeep).credentials
    let error = await error { () throws(StorageError) in
      try await storage.save(.sample(), keep: .label)
    }
    #expect(error?.code == .badRequest)
    #expect(error?.message.hasPrefix("kistd is older than kist") == true)
    #expect(error?.hint?.contains("--replace") == true)
    #expect(error?.outcome == .unchanged)
  }

  @Test func `another refusal of a save that keeps fields is passed on`() async {
    let storage = Endpoints.remote(
      over: service(.inMemory(now: { .sample }))
    ).credentials
    let error = await error { () throws(StorageError) in
      try await storage.save(.sample(CredentialKey(service: "")), keep: .all)
    }
    #expect(error?.message == "the service is empty")
  }

  @Test func `a request longer than a line is refused before it is sent`() async throws {
    let storage = Endpoints.remote(
      over: exchange { _ throws(StorageError) in
        Issue.record("it was sent")
        throw .internal("")
      }
    ).credentials
    let secret = Secret(copying: [UInt8](repeating: 0xFF, count: 786_432))
    let error = try #require(
      await error { () throws(StorageError) in
        try await storage.save(NewCredential(key: .sample, secret: secret))
      })
    #expect(error.code == .tooLarge)
    #expect(error.outcome == .unchanged)
  }

  @Test func `a passphrase that is not text is refused before it is sent`() async {
    let access = Endpoints.remote(over: service(.unimplemented, .unimplemented)).access
    for bytes in [[0xFF], [0x61, 0x00]] as [[UInt8]] {
      let error = await error { () throws(StorageError) in
        try await access.unlock(Secret(copying: bytes))
      }
      #expect(error?.code == .badRequest)
    }
  }

  @Test func `an error of the transport is passed on`() async {
    let down = StorageError(.unavailable, "no daemon", outcome: .unchanged)
    let storage = Endpoints.remote(over: exchange { _ throws(StorageError) in throw down })
      .credentials
    #expect(await error { () throws(StorageError) in try await storage.delete(.sample) } == down)
    #expect(await error { () throws(StorageError) in try await storage.load(.sample) } == down)
  }
}

private func replying(_ reply: String) -> Exchange {
  exchange { _ throws(StorageError) in Line(reply) }
}

/// Answers as kist 0.1 does to a save with `keep`, and to `hello`.
private let kistdWithoutKeep = exchange { line throws(StorageError) in
  Line(
    line.text.contains("hello")
      ? #"{"ok":true,"protocol":1,"version":"0.2.0","operations":[],"features":[],"durability":"disk"}"#
      : #"{"ok":false,"error":{"code":"badRequest","message":"an unknown key at byte 60","outcome":"unchanged"}}"#
  )
}
