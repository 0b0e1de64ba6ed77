import KistCluster
import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Changes of a cluster` {
  private let engine = MemoryEngine()

  private func changes(
    of cluster: Cluster, after position: UInt64 = 0, generation: UInt32 = 1
  ) async throws -> ClusterChanges {
    try await cluster.changes(
      ChangesRequest(generation: generation, after: ClusterPosition(position)))
  }

  @Test(arguments: Way.allCases)
  func `are each commit after the position, once and in order, without its log entry`(
    way: Way
  ) async throws {
    let cluster = try way.to(engine.cluster)
    _ = try await cluster.commit(.change(1, after: nil, puts: [row(7): [1]]))
    _ = try await cluster.commit(.change(2, after: bytes(1), deletes: [row(7), row(8)]))
    let events = try await changes(of: cluster).take(2).map(\.writes)
    #expect(events.map(\.?.position.number) == [1, 2])
    #expect(events[0]?.puts == [.head(generation: 1): bytes(1), row(7): [1]])
    // The deletion of an absent record is not a write.
    #expect(events[1]?.deletes == [row(7)])
    #expect(
      try await changes(of: cluster, after: 1).take(1).first == events[1].map(ClusterEvent.commit))
  }

  @Test(arguments: Way.allCases) func `have no gaps while writers compete and watchers wait`(
    way: Way
  ) async throws {
    let cluster = try way.to(engine.cluster)
    let count = 200 as UInt64
    async let watched = withThrowingTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          try await cluster.changes(ChangesRequest(generation: 1, after: ClusterPosition(0)))
            .take(Int(count))
        }
      }
      return try await group.reduce(into: [[ClusterEvent]]()) { $0.append($1) }
    }
    try await withThrowingTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          while true {
            let head = try await cluster.head(1).head
            let sequence = head.flatMap { UInt64(String(decoding: $0.dropFirst(5), as: UTF8.self)) }
            guard (sequence ?? 0) < count else { return }
            _ = try await cluster.commit(.change((sequence ?? 0) + 1, after: head))
          }
        }
      }
      try await group.waitForAll()
    }
    for events in try await watched {
      #expect(events.map { $0.writes?.puts[.head(generation: 1)] } == (1...count).map(bytes))
    }
  }

  @Test(arguments: Way.allCases) func `are those of one generation and of the rosters`(way: Way)
    async throws
  {
    let cluster = try way.to(engine.cluster)
    for name in [
      row(1), .roster(number: 1), row(1, generation: 2), .seen(machine: RecordID(1)),
      .head(generation: 2),
      row(2),
    ] {
      _ = try await cluster.commit(Commit(expected: nil, puts: [name: [1]]))
    }
    let both = Commit(expected: nil, puts: [row(3): [1], row(3, generation: 2): [1]])
    _ = try await cluster.commit(both)
    let names = try await changes(of: cluster).take(4).map { $0.writes?.puts.keys.map(\.self) }
    #expect(names == [[row(1)], [.roster(number: 1)], [row(2)], [row(3)]])
    let last = try await changes(of: cluster, generation: 2).take(4).last?.writes
    #expect(last?.puts == [row(3, generation: 2): [1]])
  }

  @Test(arguments: Way.allCases)
  func `end with compacted if the history after the position was discarded`(way: Way) async throws {
    let cluster = try way.to(engine.cluster)
    for sequence in 1...3 as ClosedRange<UInt64> {
      _ = try await cluster.commit(
        .change(sequence, after: sequence == 1 ? nil : bytes(sequence - 1)))
    }
    let late = try await changes(of: cluster, after: 1)
    engine.compact(upTo: ClusterPosition(2))
    // Over a socket, the events of the first watcher are already on their way.
    for changes in (way == .direct ? [late] : []) + [try await changes(of: cluster)] {
      let iterator = changes.makeAsyncIterator()
      #expect(try await iterator.next() == .compacted)
      #expect(try await iterator.next() == nil)
    }
    #expect(try await changes(of: cluster, after: 2).take(1).first?.writes?.position.number == 3)
  }

  @Test(arguments: Way.allCases)
  func `go on after compaction for a watcher that has received everything`(way: Way) async throws {
    let cluster = try way.to(engine.cluster)
    _ = try await cluster.commit(.change(1, after: nil))
    let changes = try await changes(of: cluster, generation: 2)
    let waiting = Task { try await changes.take(1) }
    _ = try await cluster.commit(.change(2, after: bytes(1)))
    engine.compact(upTo: engine.position)
    _ = try await cluster.commit(Commit(expected: nil, puts: [.roster(number: 1): [1]]))
    let event = try await waiting.value.first
    // The watcher may have read nothing before the compaction.
    #expect(event == .compacted || event?.writes?.puts == [.roster(number: 1): [1]])
  }

  @Test(arguments: Way.allCases) func `end when their task is cancelled`(way: Way) async throws {
    let cluster = try way.to(engine.cluster)
    let changes = try await changes(of: cluster)
    let waiting = Task { try await changes.makeAsyncIterator().next() }
    waiting.cancel()
    #expect(try await waiting.value == nil)
  }
}
