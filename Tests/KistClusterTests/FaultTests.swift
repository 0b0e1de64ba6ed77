import KistCluster
import KistCore
import KistTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A cluster that breaks its promises` {
  private let engine = MemoryEngine()
  private var honest: Cluster { engine.cluster }
  private let all = ChangesRequest(generation: 1, after: ClusterPosition(0))

  @Test(arguments: Way.allCases)
  func `answers other bytes in every kind of read, and stores the right ones`(way: Way) async throws
  {
    _ = try await honest.commit(.change(1, after: nil, puts: [row(7): [1], row(7, 1): [2]]))
    let lying = try way.to(
      honest.altering { name, bytes in
        switch name {
        case .head: [9]
        case row(7): bytes.map { $0 + [9] }
        case row(7, 1): nil
        default: bytes
        }
      })
    #expect(try await lying.head(1).head == [9])
    #expect(
      try await lying.records([row(7), row(7, 1), .roster(number: 1)]) == [[1, 9], nil, nil])
    guard case .page(let page) = try await lying.list(ListRequest(generation: 1, firstByte: 7))
    else { throw Unexpected() }
    #expect(page.rows == [ListPage.Row(key: RecordID(7), bytes: [1, 9])])
    let writes = try #require(try await lying.changes(all).take(1).first?.writes)
    #expect(writes.puts[.head(generation: 1)] == [9] && writes.puts[row(7)] == [1, 9])
    #expect(writes.puts[row(7, 1)] == nil)
    #expect(try await honest.records([row(7), row(7, 1)]) == [[1], [2]])
  }

  @Test(arguments: Way.allCases) func `shows two histories after a fork`(way: Way) async throws {
    _ = try await honest.commit(.change(1, after: nil))
    let fork = engine.forked()
    _ = try await honest.commit(.change(2, after: bytes(1), puts: [row(7): [1]]))
    _ = try await fork.cluster.commit(.change(2, after: bytes(1), puts: [row(8): [1]]))
    #expect(try await way.to(honest).records([row(7), row(8)]) == [[1], nil])
    #expect(try await way.to(fork.cluster).records([row(7), row(8)]) == [nil, [1]])
    #expect(engine.position == fork.position)
  }

  @Test(arguments: Way.allCases)
  func `puts everything back at a rollback, and uses positions again`(way: Way) async throws {
    _ = try await honest.commit(.change(1, after: nil, puts: [row(7): [1]]))
    _ = try await honest.commit(.change(2, after: bytes(1), deletes: [row(7)]))
    let changes = try await way.to(honest).changes(all)
    #expect(try await changes.take(2).count == 2)
    engine.rollBack(to: ClusterPosition(1))
    #expect(try await honest.head(1).head == bytes(1))
    #expect(try await honest.records([row(7)]) == [[1]])
    for sequence in [2, 3] as [UInt64] {
      _ = try await honest.commit(
        .change(sequence, after: bytes(sequence - 1), puts: [.roster(number: 1): [1]]))
    }
    // The watcher misses the commit whose number it had seen before.
    #expect(try await changes.take(1).first?.writes?.puts[.head(generation: 1)] == bytes(3))
  }

  @Test(arguments: Way.allCases) func `hides commits from watchers`(way: Way) async throws {
    let silent = try way.to(
      honest.hidingCommits { $0.puts[.head(generation: 1)] == bytes(2) })
    for sequence in 1...3 as ClosedRange<UInt64> {
      _ = try await silent.commit(
        .change(sequence, after: sequence == 1 ? nil : bytes(sequence - 1)))
    }
    let heads = try await silent.changes(all).take(2).map { $0.writes?.puts[.head(generation: 1)] }
    #expect(heads == [bytes(1), bytes(3)])
  }

  @Test(arguments: Way.allCases) func `performs a delayed call when the delay ends`(way: Way)
    async throws
  {
    let gate = Gate()
    let started = Gate()
    let slow = try way.to(
      honest.delayed { call in
        guard call == .commit else { return }
        started.open()
        await gate.wait()
      })
    let late = Task { try await slow.commit(.change(1, after: nil, head: [1])) }
    await started.wait()
    _ = try await honest.commit(.change(1, after: nil, head: [2]))
    gate.open()
    #expect(try await late.value == .headDiffers)
  }

  @Test(arguments: Way.allCases) func `waits in every function and before every event`(way: Way)
    async throws
  {
    let calls = Mutex<[Cluster.Call]>([])
    let slow = try way.to(
      honest.delayed { call in calls.withLock { $0.append(call) } })
    _ = try await slow.commit(.change(1, after: nil))
    _ = try await slow.head(1)
    _ = try await slow.list(ListRequest(generation: 1, firstByte: 7))
    _ = try await slow.records([.roster(number: 1)])
    _ = try await slow.changes(all).take(1)
    #expect(calls.withLock(\.self) == [.commit, .head, .list, .records, .changes, .event])
  }

  @Test(
    arguments: Way.allCases,
    [(.request, nil), (.answer, bytes(1)), (.commit, nil), (nil, bytes(1))]
      as [(Cluster.Loss?, [UInt8]?)])
  func `loses a request, an answer or a commit`(
    way: Way, fault: (loss: Cluster.Loss?, head: [UInt8]?)
  ) async throws {
    let (loss, head) = fault
    let lossy = try way.to(honest.losing { _ in loss })
    let commit = Commit.change(1, after: nil)
    switch loss {
    case .request, .answer:
      await #expect(throws: StorageError.noAnswer) { try await lossy.commit(commit) }
      #expect(StorageError.noAnswer.outcome == .unknown)
    case .commit, nil: #expect(try await lossy.commit(commit) != .headDiffers)
    }
    #expect(try await honest.head(1).head == head)
  }
}
