import KistCore
import KistFile
import KistTesting
import Synchronization
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `A migration` {
  @Test func `moves every credential with its secret, label, attributes and expiry`() async throws {
    let world = try await World()
    #expect(try await world.migrate() == .moved(World.credentials.count, left: []))
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

  /// The location of a real encrypted file, if there is one.
  enum File: CaseIterable { case nowhere, source, target }

  @Test(arguments: File.allCases)
  func `that is cut off at any call finishes when it is run again`(file: File) async throws {
    let calls = try await World().countCalls()
    #expect(calls > World.credentials.count * 5)
    for call in 1...calls {
      for isCarriedOut in [false, true] {
        try await withDirectory { directory in
          let opened = file == .nowhere ? nil : try await openFile(in: directory)
          let world = try await World(
            source: file == .source ? opened!.credentials : .inMemory(),
            target: file == .target ? opened!.credentials : .inMemory())
          try await cutOffAndFinish(world, at: call, after: isCarriedOut)
          await opened?.close()
        }
      }
    }
  }

  private func cutOffAndFinish(_ world: World, at call: Int, after isCarriedOut: Bool) async throws
  {
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
    guard case .moved(_, left: []) = outcome else {
      Issue.record("not moved after call \(call): \(outcome)")
      return
    }
    #expect(try await world.source.findAll().isEmpty)
    #expect(try await world.target.findAll().count == World.credentials.count)
    #expect(world.isSwitched)
  }

  private func openFile(in directory: String) async throws -> OpenStorage {
    try await EncryptedFile.open(
      EncryptedFile.Options(
        path: directory + "/credentials.db", keySource: .keyFile(path: directory + "/key")))
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

  @Test func `leaves the order in which the credentials were saved`() async throws {
    let keys = ["c", "b", "e", "a", "d"].map { CredentialKey(service: "host", account: $0) }
    let world = try await World(credentials: keys.map { .sample($0) })
    _ = try await world.migrate()
    #expect(try await world.target.findAll().newestFirst.map(\.key) == keys.reversed())
  }

  @Test func `copies nothing if a credential differs`() async throws {
    let world = try await World()
    let other = NewCredential(key: World.credentials[2].key, secret: Secret(utf8: "other"))
    try await world.target.save(other)
    #expect(try await world.migrate() == .differing([other.key]))
    #expect(try await world.target.findAll().map(\.key) == [other.key])
  }

  @Test(arguments: [true, false])
  func `lists what is damaged, and copies, removes and switches nothing`(isInSource: Bool)
    async throws
  {
    let world = try await World()
    try await world.target.save(World.credentials[0])
    let damaged = [World.credentials[0].key, World.credentials[1].key]
    func damage(_ storage: UserStorage) -> UserStorage {
      var storage = storage
      storage.load = { [load = storage.load] request throws(StorageError) in
        guard !damaged.contains(request.key) else { throw StorageError(.corrupt, "damaged") }
        return try await load(request)
      }
      return storage
    }
    let migration = Migration(
      source: isInSource ? damage(world.source) : world.source,
      target: isInSource ? world.target : damage(world.target), isSwitched: false,
      switchPin: { Issue.record("it was switched") })
    let outcome = try await migration.run()
    guard case .damaged(let keys) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(keys.sorted() == damaged.sorted())
    #expect(try await world.source.findAll().count == World.credentials.count)
    #expect(try await world.target.findAll().map(\.key) == [World.credentials[0].key])
  }

  @Test func `distinguishes labels that only look the same`() async throws {
    let world = try await World(credentials: [.sample(label: "\u{e9}")])
    try await world.target.save(.sample(label: "e\u{301}"))
    #expect(try await world.migrate() == .differing([.sample]))
  }

  @Test func `continues if the target already has the same credential`() async throws {
    let world = try await World()
    try await world.target.save(World.credentials[0])
    #expect(try await world.migrate() == .moved(World.credentials.count, left: []))
  }

  @Test func `does not restore what was deleted since the switch`() async throws {
    let world = try await World()
    world.setSwitched()
    #expect(
      try await world.migrate() == .moved(0, left: World.credentials.map(\.key).sorted()))
    #expect(try await world.target.findAll().isEmpty)
    #expect(try await world.source.findAll().count == World.credentials.count)
  }

  @Test func `that was switched removes equal credentials, and lists the others`() async throws {
    let world = try await World()
    let newer = NewCredential(key: World.credentials[0].key, secret: Secret(utf8: "newer"))
    try await world.target.save(newer)
    try await world.target.save(World.credentials[1])
    world.setSwitched()
    let outcome = try await world.migrate()
    guard case .moved(1, let left) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    let different = [World.credentials[0].key, World.credentials[2].key]
    #expect(left.sorted() == different.sorted())
    #expect(try await world.source.findAll().map(\.key).sorted() == different.sorted())
    #expect(try await world.target.load(newer.key).secret == newer.secret)
  }

  @Test func `keeps a credential that another program changes meanwhile`() async throws {
    let source = UserStorage.inMemory()
    try await source.save(.sample())
    var shared = source
    shared.delete = { request throws(StorageError) in
      try await source.save(.sample(secret: "newer"))
      return try await source.delete(request)
    }
    let migration = Migration(source: shared, target: .inMemory(), isSwitched: false, switchPin: {})
    #expect(try await migration.run() == .moved(0, left: [.sample]))
    #expect(try await source.load(.sample).secret == Secret(utf8: "newer"))
  }

  @Test func `to a target that alters a copy switches and removes nothing`() async throws {
    let world = try await World()
    var lossy = world.target
    lossy.save = { request throws(StorageError) in
      var request = request
      request.credential.label = "another"
      return try await world.target.save(request)
    }
    let migration = Migration(
      source: world.source, target: lossy, isSwitched: false,
      switchPin: { Issue.record("it was switched") })
    await #expect(throws: StorageError.self) { try await migration.run() }
    #expect(try await world.source.findAll().count == World.credentials.count)
  }

  @Test func `of nothing switches the pin`() async throws {
    let world = try await World(credentials: [])
    #expect(try await world.migrate() == .moved(0, left: []))
    #expect(world.isSwitched)
  }

  @Test func `reports its progress`() async throws {
    let told = Mutex<[String]>([])
    let world = try await World()
    let migration = Migration(
      source: world.source, target: world.target, isSwitched: false, switchPin: {},
      report: { step, done, total in told.withLock { $0.append("\(step) \(done)/\(total)") } })
    _ = try await migration.run()
    #expect(
      told.withLock { $0 } == [
        "compared 1/3", "compared 2/3", "compared 3/3", "copied 1/3", "copied 2/3", "copied 3/3",
        "removed 1/3", "removed 2/3", "removed 3/3",
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

  let source: UserStorage
  let target: UserStorage
  private let isPinned = Mutex(false)
  private let calls = Mutex(0)
  private let cutting = Mutex<(call: Int, isAfter: Bool)?>(nil)

  init(
    credentials: [NewCredential] = World.credentials, source: UserStorage = .inMemory(),
    target: UserStorage = .inMemory()
  ) async throws {
    (self.source, self.target) = (source, target)
    for credential in credentials { try await source.save(credential) }
  }

  var isSwitched: Bool { isPinned.withLock { $0 } }

  func setSwitched() { isPinned.withLock { $0 = true } }

  func migrate() async throws(StorageError) -> Migration.Outcome {
    calls.withLock { $0 = 0 }
    return try await Migration(
      source: counted(source), target: counted(target), isSwitched: isSwitched,
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
