import KistCluster
import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct `Changes of a cluster in memory` {
  private let engine = MemoryEngine()
  private var cluster: Cluster { engine.cluster }

  private func changes(
    after position: UInt64 = 0, of generation: UInt32 = 1
  ) async throws -> ClusterChanges {
    try await cluster.changes(
      ChangesRequest(generation: generation, after: ClusterPosition(position)))
  }

  @Test func `are each commit after the position, once and in order, with all its writes`()
    async throws
  {
    _ = try await cluster.commit(.change(1, after: nil, puts: [row(7): [1]]))
    _ = try await cluster.commit(.change(2, after: bytes(1), deletes: [row(7), row(8)]))
    let events = try await changes().take(2).map(\.writes)
    #expect(events.map(\.?.position.number) == [1, 2])
    #expect(events[0]?.puts.count == 3 && events[0]?.puts[row(7)] == [1])
    // The deletion of an absent record is not a write.
    #expect(events[1]?.deletes == [row(7)])
    #expect(try await changes(after: 1).take(1).first == events[1].map(ClusterEvent.commit))
  }

  @Test func `have no gaps while writers compete and watchers wait`() async throws {
    let cluster = cluster
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

  @Test func `are those of one generation and of the roster`() async throws {
    for name in [
      row(1), .roster, row(1, generation: 2), .seen(machine: RecordID(1)), .head(generation: 2),
      row(2),
    ] {
      _ = try await cluster.commit(Commit(expected: nil, puts: [name: [1]]))
    }
    let both = Commit(expected: nil, puts: [row(3): [1], row(3, generation: 2): [1]])
    _ = try await cluster.commit(both)
    let names = try await changes().take(4).map { $0.writes?.puts.keys.map(\.self) }
    #expect(names == [[row(1)], [.roster], [row(2)], [row(3)]])
  }

  @Test func `end with compacted if the history after the position was discarded`() async throws {
    for sequence in 1...3 as ClosedRange<UInt64> {
      _ = try await cluster.commit(
        .change(sequence, after: sequence == 1 ? nil : bytes(sequence - 1)))
    }
    let late = try await changes(after: 1)
    engine.compact(upTo: ClusterPosition(2))
    for changes in [late, try await changes()] {
      let iterator = changes.makeAsyncIterator()
      #expect(try await iterator.next() == .compacted)
      #expect(try await iterator.next() == nil)
    }
    #expect(try await changes(after: 2).take(1).first?.writes?.position.number == 3)
  }

  @Test func `go on after compaction for a watcher that has received everything`() async throws {
    _ = try await cluster.commit(.change(1, after: nil))
    let changes = try await changes(of: 2)
    let waiting = Task { try await changes.take(1) }
    _ = try await cluster.commit(.change(2, after: bytes(1)))
    engine.compact(upTo: engine.position)
    _ = try await cluster.commit(Commit(expected: nil, puts: [.roster: [1]]))
    let event = try await waiting.value.first
    // The watcher may have read nothing before the compaction.
    #expect(event == .compacted || event?.writes?.puts == [.roster: [1]])
  }

  @Test func `end when their task is cancelled`() async throws {
    let changes = try await changes()
    let waiting = Task { try await changes.makeAsyncIterator().next() }
    waiting.cancel()
    #expect(try await waiting.value == nil)
  }
}
