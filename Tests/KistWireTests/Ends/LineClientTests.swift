import KistCore
import KistTesting
import KistWire
import Testing

/// What a client makes of replies that it did not expect.
struct LineClientTests {
  @Test func `keys that are not known are ignored`() async throws {
    let storage = UserStorage.remote(
      over: replying(
        #"{"new":{"a":[1]},"ok":true,"deleted":true,"more":null,"id":3}"#))
    #expect(try await storage.delete(.sample))
    let failing = UserStorage.remote(
      over: replying(
        #"{"ok":false,"error":{"code":"locked","message":"m","new":1},"more":2}"#))
    #expect(
      await error { () throws(StorageError) in try await failing.load(.sample) }
        == StorageError(.locked, "m"))
  }

  @Test func `a code that is not known is internal, an outcome that is not known is unknown`()
    async
  {
    let storage = UserStorage.remote(
      over: replying(
        #"{"ok":false,"error":{"code":"melted","message":"m","hint":"h","outcome":"partly"}}"#))
    #expect(
      await error { () throws(StorageError) in try await storage.delete(.sample) }
        == StorageError(.internal, "m", hint: "h", outcome: .unknown))
  }

  @Test func `words of a status that are not known are kept as they are`() async throws {
    let access = StorageAccess.remote(
      over: replying(
        #"{"ok":true,"status":{"storage":"new","locked":true,"unlocksWith":"a song","#
          + #""reopensAtRestart":false,"durability":"stone","keyProtection":"k","#
          + #""integrity":"fair"}}"#))
    let status = try await access.status()
    #expect(status.unlocksWith?.rawValue == "a song")
    #expect(status.durability.rawValue == "stone")
    #expect(status.integrity?.rawValue == "fair")
  }

  @Test func `a kind of key slot that is not known is kept as it is`() async throws {
    let slots = KeySlots.remote(
      over: replying(
        #"{"ok":true,"slots":[{"number":1,"kind":"unknown"},"#
          + #"{"number":9,"kind":"tpm2","pcrs":[7],"passes":2}]}"#))
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
  func `a reply that cannot be read is internal, and the fate of a change not known`(
    reply: String
  ) async throws {
    let storage = UserStorage.remote(over: replying(reply))
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

  @Test func `what would not fit in a line is refused before it is sent`() async throws {
    let storage = UserStorage.remote(
      over: exchange { _ throws(StorageError) in
        Issue.record("it was sent")
        throw .internal("")
      })
    let secret = Secret(copying: [UInt8](repeating: 0xFF, count: 786_432))
    let error = try #require(
      await error { () throws(StorageError) in
        try await storage.save(NewCredential(key: .sample, secret: secret))
      })
    #expect(error.code == .tooLarge)
    #expect(error.outcome == .unchanged)
  }

  @Test func `a passphrase that is no text is refused before it is sent`() async {
    let access = StorageAccess.remote(over: service(.unimplemented, .unimplemented))
    for bytes in [[0xFF], [0x61, 0x00]] as [[UInt8]] {
      let error = await error { () throws(StorageError) in
        try await access.unlock(Secret(copying: bytes))
      }
      #expect(error?.code == .badRequest)
    }
  }

  @Test func `an error of the transport is passed on`() async {
    let down = StorageError(.unavailable, "no daemon", outcome: .unchanged)
    let storage = UserStorage.remote(over: exchange { _ throws(StorageError) in throw down })
    #expect(await error { () throws(StorageError) in try await storage.delete(.sample) } == down)
    #expect(await error { () throws(StorageError) in try await storage.load(.sample) } == down)
  }
}

private func replying(_ reply: String) -> Exchange {
  exchange { _ throws(StorageError) in Line(reply) }
}
