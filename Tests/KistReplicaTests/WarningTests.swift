import KistCluster
import KistCore
import KistReplica
import KistShared
import KistTesting
import Synchronization
import Testing

@testable import KistSimulation

@Suite(.timeLimit(.minutes(5))) struct `The warnings of a shared vault` {
  private let directory = try! TemporaryDirectory()

  @Test func `are those of the last head, if it could be read`() async throws {
    let vault = try await TestVault()
    let answer = Mutex<[String]?>(["the quota is used up"])
    var cluster = vault.engine.cluster
    cluster.head = { generation throws(StorageError) in
      guard let warnings = answer.withLock(\.self) else { throw .noAnswer }
      var reading = try await vault.engine.cluster.head(generation)
      reading.warnings = warnings
      return reading
    }
    let machine = try await vault.join(1, in: directory, on: cluster)
    for warnings in [["the quota is used up"], nil, ["a node does not answer"], []] {
      answer.withLock { $0 = warnings }
      try? await machine.refresh()
      #expect(machine.status().warnings == (warnings ?? []).map { "the adapter says: \($0)" })
    }
    await machine.close()
  }

  @Test(arguments: [(60, false), (61, true)])
  func `name the machine whose clock is ahead, for an hour`(
    seconds: Int64, isNamed: Bool
  ) async throws {
    let vault = try await TestVault()
    let elapsed = Mutex(Duration.zero)
    let (machine, other) = try await machines(
      of: vault, other: seconds, elapsed: { elapsed.withLock(\.self) })
    try await other.credentials.save(.sample())
    try await machine.refresh()
    #expect(machine.status().warnings.count == (isNamed ? 1 : 0))
    #expect(other.status().warnings == [])
    let id = TestVault.machine(2).id
    #expect(machine.status().warnings.allSatisfy { $0.contains("\(id) was 61 seconds ahead") })
    elapsed.withLock { $0 = .seconds(3601) }
    #expect(machine.status().warnings == [])
    for machine in [machine, other] { await machine.close() }
  }

  @Test func `do not name the machine of an old change`() async throws {
    let vault = try await TestVault()
    let (machine, other) = try await machines(of: vault, other: -61)
    try await other.credentials.save(.sample())
    try await machine.refresh()
    #expect(machine.status().warnings == [])
    for machine in [machine, other] { await machine.close() }
  }

  @Test(arguments: [true, false])
  func `name a machine whose clock is behind only if its change was made just now`(
    isConfirmed: Bool
  ) async throws {
    let vault = try await TestVault()
    let isListening = Atomic(false)
    let hasConfirmed = Atomic(false)
    let isCutOff = Atomic(false)
    var cluster = vault.engine.cluster
    cluster.head = { generation throws(StorageError) in
      if isCutOff.load(ordering: .relaxed) { throw .noAnswer }
      return try await vault.engine.cluster.head(generation)
    }
    cluster.changes = { request throws(StorageError) in
      let changes = try await vault.engine.cluster.changes(request)
      isListening.store(true, ordering: .relaxed)
      return changes
    }
    let (machine, other) = try await machines(
      of: vault, on: cluster, other: -61,
      sleep: { duration in
        if duration == .seconds(7200) { hasConfirmed.store(true, ordering: .relaxed) }
        try? await Task.sleep(for: duration)
      })
    let third = try await vault.join(3, in: directory, options: TestVault.options(3) { start })
    let events = try await machine.watch.begin(WatchRequest()).makeAsyncIterator()
    let following = Task { await machine.follow() }
    // A confirmation would find the change, too.
    while !isListening.load(ordering: .relaxed) || !hasConfirmed.load(ordering: .relaxed) {
      await Task.yield()
    }
    isCutOff.store(!isConfirmed, ordering: .relaxed)
    try? await machine.refresh()
    // The right time of another machine does not end the warning.
    for saving in [other, third] {
      try await saving.credentials.save(.sample())
      _ = try await events.next()
    }
    #expect(machine.status().warnings.count == (isConfirmed ? 1 : 0))
    #expect(machine.status().warnings.allSatisfy { $0.contains("was 61 seconds behind") })
    following.cancel()
    for machine in [machine, other, third] { await machine.close() }
  }

  /// Joins a machine, and another one whose clock differs.
  private func machines(
    of vault: TestVault, on cluster: Cluster? = nil, other seconds: Int64,
    elapsed: @escaping @Sendable () -> Duration = { .zero },
    sleep: @escaping @Sendable (Duration) async -> Void = { _ in }
  ) async throws -> (SharedVault, other: SharedVault) {
    var options = TestVault.options(1) { start }
    (options.elapsed, options.sleep, options.confirmsEvery) = (elapsed, sleep, .seconds(7200))
    let joined = try await vault.join(1, in: directory, on: cluster, options: options)
    let others = TestVault.options(2) { start.advanced(bySeconds: seconds)! }
    return (joined, try await vault.join(2, in: directory, options: others))
  }
}

private let start = Timestamp(secondsSinceEpoch: 1_700_000_000)!
