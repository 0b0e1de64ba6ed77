import KistCluster
import KistCore
import KistReplica
import KistShared
import Synchronization

/// How often each fault happens: once in so many cases; 0 means never.
struct Faults: Sendable {
  /// A call or an event takes up to two seconds.
  var delay = 12
  /// A call does not reach the cluster, and the caller knows it.
  var unreachable = 25
  /// The request or the answer of a call is lost.
  var loss = 15
  /// A lost commit is made later.
  var late = 2
  /// The machine crashes at a call or at a write.
  var crash = 120
  /// A machine is cut off from the cluster for a while.
  var cut = 40
  /// The cluster discards its history.
  var compaction = 100
  /// An admin adds a machine.
  var roster = 60
  /// An admin gives the vault a new key, in half of the cases to remove a machine.
  var generation = 20
  /// The cluster lies: about a head, a record, a list, an event or a commit.
  var lie = 0

  static let none = Faults(
    delay: 0, unreachable: 0, loss: 0, late: 0, crash: 0, cut: 0, compaction: 0, roster: 0,
    generation: 0)
}

/// The way from one machine to the cluster, with the faults on it.
final class Network: Sendable {
  let scheduler: Scheduler
  let engine: MemoryEngine
  let history: History
  let faults: Mutex<Faults>
  /// Heads that the cluster had, for a lie.
  private let oldHeads = Mutex<[HeadReading]>([])

  init(_ engine: MemoryEngine, _ history: History, _ scheduler: Scheduler, _ faults: Faults) {
    (self.engine, self.history, self.scheduler) = (engine, history, scheduler)
    self.faults = Mutex(faults)
  }

  func happens(_ fault: (Faults) -> Int) -> Bool {
    scheduler.happens(oneIn: fault(faults.withLock(\.self)))
  }

  /// Returns the cluster as one machine reaches it in one life.
  ///
  /// - Parameter operation: returns the request that a commit belongs to.
  func cluster(
    of machine: Machine, in life: Life, for operation: @escaping @Sendable () -> Operation?
  ) -> Cluster {
    let real = engine.cluster
    return Cluster(
      head: { generation throws(StorageError) in
        try await self.travel(machine, life)
        let reading = try await real.head(generation)
        let old = self.oldHeads.withLock { heads in
          heads.append(reading)
          return heads
        }
        try await self.travelBack(machine, life)
        guard self.happens(\.lie) else { return reading }
        if self.scheduler.happens(oneIn: 4) {
          return HeadReading(head: nil, position: reading.position)
        }
        return old[self.scheduler.random(in: old.indices.lowerBound...old.indices.upperBound - 1)]
      },
      list: { request throws(StorageError) in
        // A list has 256 pages, and would never succeed if each page had every fault.
        let hasFaults = self.scheduler.happens(oneIn: 128)
        if hasFaults { try await self.travel(machine, life) }
        let reply = try await real.list(request)
        if hasFaults { try await self.travelBack(machine, life) }
        guard hasFaults, self.happens(\.lie), case .page(var page) = reply, !page.rows.isEmpty
        else {
          return reply
        }
        page.rows.removeFirst()
        return .page(page)
      },
      records: { names throws(StorageError) in
        try await self.travel(machine, life)
        var records = try await real.records(names)
        try await self.travelBack(machine, life)
        guard self.happens(\.lie) else { return records }
        let place = self.scheduler.random(in: 0...records.count - 1)
        if self.scheduler.happens(oneIn: 2), var record = records[place] {
          record[self.scheduler.random(in: 0...record.count - 1)] ^= 1
          records[place] = record
        } else {
          records[place] = nil
        }
        return records
      },
      commit: { commit throws(StorageError) in
        let operation = operation()
        try await self.travel(machine, life)
        let loss = self.happens(\.loss)
        if loss, self.scheduler.happens(oneIn: 2) {
          if self.happens(\.late) {
            self.scheduler.start {
              await self.scheduler.sleep(.milliseconds(self.scheduler.random(in: 0...4000)))
              _ = try? await self.make(commit, operation, in: life)
            }
          }
          throw .noAnswer
        }
        if self.happens(\.lie) { return .committed(ClusterPosition(0)) }
        let reply = try await self.make(commit, operation, in: life)
        try await self.travelBack(machine, life)
        if loss { throw .noAnswer }
        return self.happens(\.lie) ? .headDiffers : reply
      },
      changes: { request throws(StorageError) in
        try await self.travel(machine, life)
        let iterator = try await real.changes(request).makeAsyncIterator()
        return ClusterChanges { () throws(StorageError) in
          while let event = try await iterator.next() {
            try await self.travelBack(machine, life)
            if !self.happens(\.lie) { return event }
          }
          return nil
        }
      })
  }

  private func make(
    _ commit: Commit, _ operation: Operation?, in life: Life
  ) async throws(StorageError) -> CommitReply {
    let reply = try await engine.cluster.commit(commit)
    if case .committed = reply {
      do { try history.record(commit, of: operation, in: life) } catch {
        throw .internal("the simulation cannot read a commit")
      }
    }
    return reply
  }

  /// The way of a request to the cluster.
  private func travel(_ machine: Machine, _ life: Life) async throws(StorageError) {
    try await pass(machine, life)
    if machine.isCut || happens(\.unreachable) {
      throw StorageError(.unavailable, "the cluster cannot be reached", outcome: .unchanged)
    }
  }

  /// The way of an answer to the machine.
  private func travelBack(_ machine: Machine, _ life: Life) async throws(StorageError) {
    try await pass(machine, life)
    if machine.isCut || happens(\.loss) { throw .noAnswer }
  }

  /// Takes some time, in which the machine may crash.
  func pass(_ machine: Machine, _ life: Life) async throws(StorageError) {
    try life.check()
    if happens(\.crash) { machine.crash(life) }
    await scheduler.sleep(
      .milliseconds(scheduler.random(in: 0...(happens(\.delay) ? 2000 : 10))))
    try life.check()
  }
}
