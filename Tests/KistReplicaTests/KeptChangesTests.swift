import KistCluster
import KistCore
import KistReplica
import KistTesting
import KistVault
import Synchronization
import Testing

@testable import KistSimulation

/// A machine that follows a vault.
private struct Follower {
  let machine: SharedVault
  let events: CredentialChanges.Iterator
  private let following: Task<Void, Never>

  /// - Parameter join: joins the vault with this cluster and these options.
  init(
    of vault: TestVault, writesAfter: Duration,
    join: (Cluster, ReplicaOptions) async throws -> SharedVault
  ) async throws {
    let isListening = Atomic(false)
    let hasConfirmed = Atomic(false)
    var options = TestVault.options(1)
    (options.writesAfter, options.confirmsEvery) = (writesAfter, .seconds(7200))
    options.sleep = { duration in
      if duration == .seconds(7200) { hasConfirmed.store(true, ordering: .relaxed) }
      try? await Task.sleep(for: duration)
    }
    var cluster = vault.engine.cluster
    cluster.changes = { request throws(StorageError) in
      let changes = try await vault.engine.cluster.changes(request)
      isListening.store(true, ordering: .relaxed)
      return changes
    }
    machine = try await join(cluster, options)
    events = try await machine.watch.begin(WatchRequest()).makeAsyncIterator()
    following = Task { [machine] in await machine.follow() }
    // A confirmation that finds other changes would write all of them.
    while !isListening.load(ordering: .relaxed) || !hasConfirmed.load(ordering: .relaxed) {
      await Task.yield()
    }
  }

  func end() async {
    following.cancel()
    await machine.close()
  }
}

/// A disk that can be full, and can fail after a write has landed.
private final class FaultyDisk: Sendable {
  private struct State {
    var calls = 0
    var isFull = false
    var failsAfterWrite = false
  }

  let disk = Disk()
  let life = Life()
  private let state = Mutex(State())

  /// The number of writes to the copy; each calls `pause` before and after it.
  var writes: Int { state.withLock { $0.calls / 2 } }
  /// The number of the last change that is written.
  var sequence: UInt64? { disk.state.withLock { $0?.vault.sequence } }

  func makeFull(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }
  func failAfterNextWrite() { state.withLock { $0.failsAfterWrite = true } }

  @Sendable func pause() async throws(StorageError) {
    try life.check()
    try state.withLock { state throws(StorageError) in
      if state.isFull { throw StorageError(.full, "no space", outcome: .unchanged) }
      state.calls += 1
      guard state.failsAfterWrite, state.calls.isMultiple(of: 2) else { return }
      state.failsAfterWrite = false
      throw StorageError(.timeout, "no answer", outcome: .unknown)
    }
  }

  func join(
    _ vault: TestVault, _ cluster: Cluster, _ options: ReplicaOptions
  ) async throws -> SharedVault {
    try await SharedVault.join(
      vault.invitation, on: cluster, options
    ) { master, storeID, epoch throws(StorageError) in
      try disk.makeCopy(master, storeID, epoch)
      return disk.copy(in: life, pause: pause)
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A reported change of another machine` {
  private let directory = try! TemporaryDirectory()
  private let disk = FaultyDisk()
  private let key = CredentialKey(service: "other")

  /// Returns a machine that follows a vault with one credential, and another one that changes it.
  private func machines(
    writesAfter: Duration = .seconds(1_000_000)
  ) async throws -> (TestVault, Follower, other: SharedVault) {
    let vault = try await TestVault()
    let other = try await vault.join(2, in: directory)
    try await other.credentials.save(.sample(secret: "old"))
    let follower = try await Follower(of: vault, writesAfter: writesAfter) {
      try await disk.join(vault, $0, $1)
    }
    return (vault, follower, other)
  }

  @Test func `is reported before it is written, and written with later ones`() async throws {
    let (_, follower, other) = try await machines()
    let (before, writes) = (disk.sequence, disk.writes)
    for secret in ["one", "two", "three"] {
      let saved = try await other.credentials.save(.sample(secret: secret))
      #expect(try await follower.events.next() == .saved(.sample, saved.revision))
      #expect(follower.machine.status().revision == saved.revision)
    }
    // A confirmation does not write them, either.
    try await follower.machine.refresh()
    #expect(disk.sequence == before && disk.writes == writes)
    _ = try await follower.machine.credentials.load(.sample)
    #expect(disk.sequence == before.map { $0 + 3 } && disk.writes == writes + 1)
    await follower.end()
    await other.close()
  }

  @Test func `is written before the credential is loaded, but not for another one`() async throws {
    let (_, follower, other) = try await machines()
    let before = disk.sequence
    try await other.credentials.save(.sample(key, secret: "new"))
    _ = try await follower.events.next()
    #expect(try await follower.machine.credentials.load(.sample).secret == Secret(utf8: "old"))
    #expect(disk.sequence == before)
    #expect(try await follower.machine.credentials.load(key).secret == Secret(utf8: "new"))
    #expect(disk.sequence == before.map { $0 + 1 })
    try await other.credentials.delete(key)
    _ = try await follower.events.next()
    await expect(.notFound) { try await follower.machine.credentials.load(key) }
    #expect(disk.sequence == before.map { $0 + 2 })
    await follower.end()
    await other.close()
  }

  @Test func `is written before credentials are found`() async throws {
    let vault = try await TestVault()
    let other = try await vault.join(2, in: directory)
    let follower = try await Follower(of: vault, writesAfter: .seconds(1_000_000)) {
      try await vault.join(1, in: directory, on: $0, options: $1)
    }
    try await other.credentials.save(.sample(key))
    _ = try await follower.events.next()
    let found = try await follower.machine.credentials.find(CredentialQuery())
    #expect(found.credentials.map(\.key) == [key])
    await follower.end()
    await other.close()
  }

  @Test func `is written after a moment`() async throws {
    let (_, follower, other) = try await machines(writesAfter: .milliseconds(1))
    let before = disk.sequence
    try await other.credentials.save(.sample(secret: "new"))
    _ = try await follower.events.next()
    while disk.sequence == before { await Task.yield() }
    #expect(disk.sequence == before.map { $0 + 1 })
    await follower.end()
    await other.close()
  }

  @Test func `is written when the vault is closed`() async throws {
    let (_, follower, other) = try await machines()
    let before = disk.sequence
    try await other.credentials.save(.sample(secret: "new"))
    _ = try await follower.events.next()
    await follower.end()
    #expect(disk.sequence == before.map { $0 + 1 })
    await other.close()
  }

  @Test func `is written before others are kept if it is large`() async throws {
    let (_, follower, other) = try await machines()
    let before = disk.sequence
    let secret = String(repeating: "s", count: 500_000)
    for number in 1...4 {
      try await other.credentials.save(.sample(CredentialKey(service: "\(number)"), secret: secret))
      _ = try await follower.events.next()
    }
    #expect(disk.sequence == before.map { $0 + 3 })
    await follower.end()
    await other.close()
  }

  @Test func `is written before a change of this machine`() async throws {
    let (_, follower, other) = try await machines()
    let before = disk.sequence
    try await other.credentials.save(.sample(secret: "new"))
    _ = try await follower.events.next()
    try await follower.machine.credentials.save(.sample(key, secret: "own"))
    #expect(disk.sequence == before.map { $0 + 2 })
    #expect(try await follower.machine.credentials.load(.sample).secret == Secret(utf8: "new"))
    #expect(try await follower.machine.credentials.load(key).secret == Secret(utf8: "own"))
    await follower.end()
    await other.close()
  }

  @Test func `is read again if the machine stops before it is written`() async throws {
    let (vault, follower, other) = try await machines()
    let saved = try await other.credentials.save(.sample(secret: "new"))
    _ = try await follower.events.next()
    disk.life.end()
    await follower.end()
    let copy = disk.disk.copy(in: Life()) {}
    let machine = try await SharedVault.open(
      copy, on: vault.engine.cluster, TestVault.options(1))
    #expect(machine.status().problem == nil && machine.status().revision != saved.revision)
    #expect(try await machine.credentials.load(.sample).secret == Secret(utf8: "old"))
    try await machine.refresh()
    #expect(try await machine.credentials.load(.sample).secret == Secret(utf8: "new"))
    for machine in [machine, other] { await machine.close() }
  }

  @Test func `cannot be loaded while the disk is full, but others can`() async throws {
    let (_, follower, other) = try await machines()
    let before = disk.sequence
    try await other.credentials.save(.sample(key, secret: "new"))
    _ = try await follower.events.next()
    disk.makeFull(true)
    let error = await expect(.full) { try await follower.machine.credentials.load(key) }
    #expect(error?.outcome == nil)
    #expect(try await follower.machine.credentials.load(.sample).secret == Secret(utf8: "old"))
    await expect(.full) { try await follower.machine.refresh() }
    #expect(follower.machine.status().problem?.code == .full)
    // Not kept: an older value is not an error, because no later one was reported.
    try await other.credentials.save(.sample(secret: "later"))
    await expect(.full) { try await follower.machine.refresh() }
    #expect(try await follower.machine.credentials.load(.sample).secret == Secret(utf8: "old"))
    #expect(disk.sequence == before)
    disk.makeFull(false)
    try await follower.machine.refresh()
    #expect(follower.machine.status().problem == nil)
    #expect(try await follower.machine.credentials.load(key).secret == Secret(utf8: "new"))
    #expect(try await follower.machine.credentials.load(.sample).secret == Secret(utf8: "later"))
    await follower.end()
    await other.close()
  }

  @Test func `is written by a confirmation if the disk was full before`() async throws {
    let (_, follower, other) = try await machines()
    let before = disk.sequence
    try await other.credentials.save(.sample(secret: "new"))
    _ = try await follower.events.next()
    disk.makeFull(true)
    await expect(.full) { try await follower.machine.credentials.load(.sample) }
    disk.makeFull(false)
    try await follower.machine.refresh()
    #expect(disk.sequence == before.map { $0 + 1 } && follower.machine.status().problem == nil)
    await follower.end()
    await other.close()
  }

  @Test(arguments: [true, false])
  func `does no harm if a write of it has landed although it failed`(isOwn: Bool) async throws {
    let (_, follower, other) = try await machines()
    try await other.credentials.save(.sample(secret: "new"))
    _ = try await follower.events.next()
    disk.failAfterNextWrite()
    if isOwn {
      try await follower.machine.credentials.save(.sample(key, secret: "own"))
    } else {
      await expect(.timeout) { try await follower.machine.credentials.load(.sample) }
      try await other.credentials.save(.sample(key, secret: "own"))
      try await follower.machine.refresh()
    }
    #expect(follower.machine.status().problem == nil)
    #expect(try await follower.machine.credentials.load(.sample).secret == Secret(utf8: "new"))
    #expect(try await follower.machine.credentials.load(key).secret == Secret(utf8: "own"))
    await follower.end()
    await other.close()
  }
}
