import KistCore
import KistDaemon
import KistTesting
import Synchronization
import Testing

@Suite struct `A migration` {
  @Test func `moves every credential with its secret, label, attributes and expiry`() async throws {
    let world = try await World()
    #expect(try await world.migrate() == .moved(World.credentials.count))
    #expect(try await world.source.findAll().isEmpty)
    for credential in World.credentials {
      let moved = try await world.target.load(
        LoadRequest(key: credential.key, allowExpired: true))
      #expect(moved.secret == credential.secret)
      #expect(moved.summary.label == credential.label)
      #expect(moved.summary.attributes == credential.attributes)
      #expect(moved.summary.expiresAt == credential.expiresAt)
    }
    #expect(world.isSwitched)
  }

  @Test func `that is cut off at any call finishes when it is run again`() async throws {
    let calls = try await World().countCalls()
    #expect(calls > World.credentials.count * 5)
    for call in 1...calls {
      for isCarriedOut in [false, true] {
        let world = try await World()
        world.cut(at: call, after: isCarriedOut)
        await #expect(throws: StorageError.self) { try await world.migrate() }
        // Whatever was done by then, each credential is in the storage that counts.
        let counting = world.isSwitched ? world.target : world.source
        for credential in World.credentials {
          let kept = try await counting.load(LoadRequest(key: credential.key, allowExpired: true))
          #expect(kept.secret == credential.secret, "call \(call)")
        }
        world.mend()
        let outcome = try await world.migrate()
        guard case .moved = outcome else {
          Issue.record("not moved after call \(call): \(outcome)")
          continue
        }
        #expect(try await world.source.findAll().isEmpty)
        #expect(try await world.target.findAll().count == World.credentials.count)
        #expect(world.isSwitched)
      }
    }
  }

  @Test func `lists what differs, and removes and switches nothing`() async throws {
    let world = try await World()
    let other = NewCredential(key: World.credentials[1].key, secret: Secret(utf8: "other"))
    try await world.target.save(other)
    #expect(try await world.migrate() == .differing([other.key]))
    #expect(try await world.source.findAll().count == World.credentials.count)
    #expect(try await world.target.load(other.key).secret == other.secret)
    #expect(!world.isSwitched)
  }

  @Test func `goes on where the target has the same already`() async throws {
    let world = try await World()
    try await world.target.save(World.credentials[0])
    #expect(try await world.migrate() == .moved(World.credentials.count))
  }

  @Test func `brings nothing back that was deleted since the switch`() async throws {
    let world = try await World()
    world.setSwitched()
    #expect(
      try await world.migrate() == .differing(World.credentials.map(\.key).sorted()))
    #expect(try await world.target.findAll().isEmpty)
    #expect(try await world.source.findAll().count == World.credentials.count)
  }

  @Test func `of nothing switches the pin`() async throws {
    let world = try await World(credentials: [])
    #expect(try await world.migrate() == .moved(0))
    #expect(world.isSwitched)
  }

  @Test func `tells how far it is`() async throws {
    let told = Mutex<[String]>([])
    let world = try await World()
    let migration = Migration(
      from: world.source, to: world.target, isSwitched: false, switchPin: {},
      report: { step, done, total in told.withLock { $0.append("\(step) \(done)/\(total)") } })
    _ = try await migration.run()
    #expect(
      told.withLock { $0 } == [
        "copied 1/3", "copied 2/3", "copied 3/3", "removed 1/3", "removed 2/3", "removed 3/3",
      ])
  }
}

/// Two storages and a pin, any call of which can be made to fail.
private final class World: Sendable {
  static let credentials: [NewCredential] = [
    .sample(),
    NewCredential(
      key: CredentialKey(service: "example.net"), secret: Secret(copying: [0, 0xFF, 0x0A]),
      label: "a label", attributes: ["url": "https://example.net"],
      expiresAt: Timestamp(secondsSinceEpoch: 1)),
    NewCredential(key: CredentialKey(service: "z", account: "é"), secret: Secret(utf8: "")),
  ]

  let source = UserStorage.inMemory()
  let target = UserStorage.inMemory()
  private let isPinned = Mutex(false)
  private let calls = Mutex(0)
  private let cutting = Mutex<(call: Int, isAfter: Bool)?>(nil)

  init(credentials: [NewCredential] = World.credentials) async throws {
    for credential in credentials { try await source.save(credential) }
  }

  var isSwitched: Bool { isPinned.withLock { $0 } }

  func setSwitched() { isPinned.withLock { $0 = true } }

  func migrate() async throws(StorageError) -> Migration.Outcome {
    calls.withLock { $0 = 0 }
    return try await Migration(
      from: counted(source), to: counted(target), isSwitched: isSwitched,
      switchPin: { () throws(StorageError) in
        try self.before()
        self.setSwitched()
        try self.after()
      }
    ).run()
  }

  func countCalls() async throws -> Int {
    _ = try await migrate()
    return calls.withLock { $0 }
  }

  func cut(at call: Int, after isAfter: Bool) {
    cutting.withLock { $0 = (call, isAfter) }
  }

  func mend() { cutting.withLock { $0 = nil } }

  private func before() throws(StorageError) {
    let call = calls.withLock { calls in
      calls += 1
      return calls
    }
    if let cut = cutting.withLock({ $0 }), cut.call == call, !cut.isAfter { throw Self.cutOff }
  }

  private func after() throws(StorageError) {
    let call = calls.withLock { $0 }
    if let cut = cutting.withLock({ $0 }), cut.call == call, cut.isAfter { throw Self.cutOff }
  }

  private static let cutOff = StorageError(.unavailable, "cut off")

  private func counted(_ storage: UserStorage) -> UserStorage {
    func counting<Input: Sendable, Output: Sendable>(
      _ request: @escaping @Sendable (Input) async throws(StorageError) -> Output
    ) -> @Sendable (Input) async throws(StorageError) -> Output {
      { input throws(StorageError) in
        try self.before()
        let output: Output
        do throws(StorageError) { output = try await request(input) } catch {
          try self.after()
          throw error
        }
        try self.after()
        return output
      }
    }
    return UserStorage(
      save: counting(storage.save), load: counting(storage.load),
      delete: counting(storage.delete), find: counting(storage.find))
  }
}
