import KistCluster
import KistCore
import KistReplica
import KistShared
import KistTesting
import KistVault
import Synchronization
import Testing

@testable import KistSimulation

/// What happens before and after each write to a copy.
private final class Pause: Sendable {
  let body = Mutex<@Sendable () async throws(StorageError) -> Void>({})

  func callAsFunction() async throws(StorageError) {
    let body = body.withLock(\.self)
    try await body()
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A watcher of a shared vault` {
  private let directory = try! TemporaryDirectory()
  private let pause = Pause()

  /// Joins a machine whose writes call `pause`, and another one.
  private func machines(_ vault: TestVault) async throws -> (SharedVault, other: SharedVault) {
    let disk = Disk()
    let machine = try await SharedVault.join(
      vault.invitation, on: vault.engine.cluster, TestVault.options(1)
    ) { master, storeID, epoch throws(StorageError) in
      try disk.makeCopy(master, storeID, epoch)
      return disk.copy(in: Life()) { [pause] () throws(StorageError) in try await pause() }
    }
    return (machine, try await vault.join(2, in: directory))
  }

  @Test func `that begins while a change is written receives it`() async throws {
    let vault = try await TestVault()
    let (machine, other) = try await machines(vault)
    let first = try await other.credentials.save(.sample(secret: "one"))
    let begun = Mutex<CredentialChanges?>(nil)
    pause.body.withLock {
      $0 = { () throws(StorageError) in
        let changes = try await machine.watch.begin(WatchRequest())
        begun.withLock { if $0 == nil { $0 = changes } }
      }
    }
    try await machine.refresh()
    let watch = begun.withLock(\.self)
    let changes = try #require(watch)
    pause.body.withLock { $0 = {} }
    // Without the first change, the watcher would receive this one.
    try await other.credentials.save(.sample(secret: "two"))
    try await machine.refresh()
    #expect(try await changes.makeAsyncIterator().next() == .saved(.sample, first.revision))
    for machine in [machine, other] { await machine.close() }
  }

  @Test func `receives a reset for a write that landed although it failed`() async throws {
    let vault = try await TestVault()
    let (machine, other) = try await machines(vault)
    let changes = try await machine.watch.begin(WatchRequest())
    let first = try await other.credentials.save(.sample(secret: "one"))
    let writes = Atomic(0)
    pause.body.withLock {
      $0 = { () throws(StorageError) in
        // The second call follows the write.
        if writes.add(1, ordering: .relaxed).newValue == 2 {
          throw StorageError(.full, "no space", outcome: .unknown)
        }
      }
    }
    await expect(.full) { try await machine.refresh() }
    // A later watch begins where the copy is, and so does the status.
    let later = try await machine.watch.begin(WatchRequest())
    #expect(later.position == first.revision && machine.status().revision == first.revision)
    #expect(machine.status().count == 1)
    try await machine.refresh()
    try await other.credentials.save(.sample(secret: "two"))
    try await machine.refresh()
    #expect(try await changes.makeAsyncIterator().next() == .reset)
    for machine in [machine, other] { await machine.close() }
  }

  enum Report: CaseIterable { case right, withLogEntry, wrong }

  @Test(arguments: Report.allCases)
  func `learns a reported change, and reads the cluster only if the report is wrong`(
    report: Report
  ) async throws {
    let vault = try await TestVault()
    let isListening = Atomic(false)
    let reads = Atomic(0)
    var cluster = vault.engine.cluster
    cluster.records = { names throws(StorageError) in
      reads.add(1, ordering: .relaxed)
      return try await vault.engine.cluster.records(names)
    }
    cluster.changes = { request throws(StorageError) in
      let iterator = try await vault.engine.cluster.changes(request).makeAsyncIterator()
      isListening.store(true, ordering: .relaxed)
      return ClusterChanges { () throws(StorageError) in
        guard case .commit(var writes) = try await iterator.next() else { return nil }
        switch report {
        case .right: break
        case .withLogEntry: writes.puts[.logEntry(generation: 1, sequence: 1)] = [1]
        case .wrong:
          for case let name in writes.puts.keys where name != .head(generation: 1) {
            writes.puts[name] = [1]
          }
        }
        return .commit(writes)
      }
    }
    let machine = try await vault.join(1, in: directory, on: cluster)
    let other = try await vault.join(2, in: directory)
    let changes = try await machine.watch.begin(WatchRequest())
    let following = Task { await machine.follow() }
    while !isListening.load(ordering: .relaxed) { await Task.yield() }
    let before = reads.load(ordering: .relaxed)
    let saved = try await other.credentials.save(.sample(secret: "new"))
    #expect(try await changes.makeAsyncIterator().next() == .saved(.sample, saved.revision))
    #expect(try await machine.credentials.load(.sample).secret == Secret(utf8: "new"))
    #expect((reads.load(ordering: .relaxed) == before) == (report != .wrong))
    following.cancel()
    for machine in [machine, other] { await machine.close() }
  }

  @Test func `ends a report that repeats a change, and learns the next one`() async throws {
    let vault = try await TestVault()
    let other = try await vault.join(2, in: directory)
    let begun = Atomic(0)
    let taken = Atomic(0)
    var cluster = vault.engine.cluster
    cluster.changes = { request throws(StorageError) in
      let iterator = try await vault.engine.cluster.changes(request).makeAsyncIterator()
      begun.add(1, ordering: .relaxed)
      let last = Mutex<ClusterEvent?>(nil)
      return ClusterChanges { () throws(StorageError) in
        if let event = last.withLock(\.self) {
          taken.add(1, ordering: .relaxed)
          return event
        }
        let event = try await iterator.next()
        last.withLock { $0 = event }
        return event
      }
    }
    let machine = try await vault.join(1, in: directory, on: cluster)
    let changes = try await machine.watch.begin(WatchRequest()).makeAsyncIterator()
    let following = Task { await machine.follow() }
    for number in 1...3 {
      let saved = try await other.credentials.save(.sample(secret: "\(number)"))
      #expect(try await changes.next() == .saved(.sample, saved.revision))
    }
    following.cancel()
    await following.value
    #expect(taken.load(ordering: .relaxed) <= begun.load(ordering: .relaxed))
    for machine in [machine, other] { await machine.close() }
  }
}
