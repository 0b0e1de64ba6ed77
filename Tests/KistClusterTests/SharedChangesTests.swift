import KistCluster
import KistCore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Callers that share the changes of a cluster` {
  private let engine = MemoryEngine()

  /// A cluster that counts the sequences that were begun.
  private func counting(_ count: Counter, _ cluster: Cluster) -> Cluster {
    var counting = cluster
    counting.changes = { request throws(StorageError) in
      count.value.withLock { $0 += 1 }
      return try await cluster.changes(request)
    }
    return counting
  }

  private func request(
    _ generation: UInt32 = 1, after position: UInt64 = 0
  ) -> ChangesRequest {
    ChangesRequest(generation: generation, after: ClusterPosition(position))
  }

  private func commit(_ sequences: ClosedRange<UInt64>) async throws {
    for sequence in sequences {
      _ = try await engine.cluster.commit(
        .change(sequence, after: sequence == 1 ? nil : bytes(sequence - 1)))
    }
  }

  @Test func `use one sequence for each generation, until the last one leaves`() async throws {
    let count = Counter()
    let cluster = counting(count, engine.cluster).sharingChanges()
    for round in 1...2 {
      let first = try await cluster.changes(request())
      let others = [
        try await cluster.changes(request()), try await cluster.changes(request(after: 2)),
      ]
      let other = try await cluster.changes(request(2))
      if round == 1 { try await commit(1...3) }
      #expect(try await first.take(3).map(\.writes?.position.number) == [1, 2, 3])
      #expect(try await others[0].take(3).map(\.writes?.position.number) == [1, 2, 3])
      #expect(try await others[1].take(1).map(\.writes?.position.number) == [3])
      extendLifetime(other)
      #expect(count.value.withLock(\.self) == 2 * round)
    }
  }

  @Test func `get a sequence of their own for older changes`() async throws {
    let count = Counter()
    let cluster = counting(count, engine.cluster).sharingChanges()
    try await commit(1...3)
    let shared = try await cluster.changes(request(after: 2))
    let own = try await cluster.changes(request(after: 1))
    #expect(try await own.take(2).map(\.writes?.position.number) == [2, 3])
    #expect(try await shared.take(1).map(\.writes?.position.number) == [3])
    #expect(count.value.withLock(\.self) == 2)
  }

  @Test func `get busy for older changes while too many follow those, and a place when one leaves`()
    async throws
  {
    let cluster = engine.cluster.limitingChanges(to: 3).sharingChanges()
    try await commit(1...3)
    let shared = try await cluster.changes(request(after: 3))
    var own = [
      try await cluster.changes(request(after: 1)), try await cluster.changes(request(after: 2)),
    ]
    for another in [request(after: 1), request(2)] {
      let error = await #expect(throws: StorageError.self) {
        try await cluster.changes(another)
      }
      #expect(error?.code == .busy)
    }
    let others = try await cluster.changes(request(after: 3))
    #expect(try await own[0].take(2).map(\.writes?.position.number) == [2, 3])
    own.removeFirst()
    let again = try await cluster.changes(request(after: 1))
    #expect(try await again.take(2).map(\.writes?.position.number) == [2, 3])
    try await commit(4...4)
    #expect(try await shared.take(1).map(\.writes?.position.number) == [4])
    #expect(try await others.take(1).map(\.writes?.position.number) == [4])
    extendLifetime(own)
  }

  @Test func `leave a place when they all leave`() async throws {
    let cluster = engine.cluster.limitingChanges(to: 2).sharingChanges()
    try await commit(1...3)
    let shared = try await cluster.changes(request(after: 2))
    // The place is free a moment after the last caller has left.
    func open(_ request: ChangesRequest) async throws -> ClusterChanges {
      while true {
        do throws(StorageError) { return try await cluster.changes(request) } catch {
          guard error.code == .busy else { throw error }
        }
        try await Task.sleep(for: .milliseconds(1))
      }
    }
    for generation in 2...5 as ClosedRange<UInt32> {
      extendLifetime(try await open(request(generation)))
    }
    let own = try await open(request(after: 1))
    #expect(try await own.take(1).map(\.writes?.position.number) == [2])
    #expect(try await shared.take(1).map(\.writes?.position.number) == [3])
  }

  @Test func `get unavailable if they fall far behind, and all changes if they begin again`()
    async throws
  {
    let cluster = engine.cluster.sharingChanges()
    let slow = try await cluster.changes(request())
    let fast = try await cluster.changes(request())
    for sequence in 1...400 as ClosedRange<UInt64> {
      try await commit(sequence...sequence)
      #expect(try await fast.take(1).first?.writes?.position.number == sequence)
    }
    let error = await #expect(throws: StorageError.self) { try await slow.take(1) }
    #expect(error?.code == .unavailable)
    let again = try await cluster.changes(request())
    #expect(try await again.take(400).count == 400)
  }

  @Test func `get all large changes while none is faster`() async throws {
    for number in 1...32 as ClosedRange<UInt8> {
      _ = try await engine.cluster.commit(
        Commit(expected: nil, puts: [row(7): .init(repeating: number, count: 1 << 20)]))
    }
    let changes = try await engine.cluster.sharingChanges().changes(request())
    // The feed may read ahead meanwhile.
    try await Task.sleep(for: .milliseconds(200))
    let events = try await changes.take(32)
    #expect(events.map { $0.writes?.puts[row(7)]?.first } == Array(1...32))
  }

  @Test func `can all leave while the sequence waits for space`() async throws {
    let (events, continuation) = AsyncStream.makeStream(of: ClusterEvent.self)
    var fast = engine.cluster
    fast.changes = { _ throws(StorageError) in
      ClusterChanges { () throws(StorageError) in
        // Reports what is there, also after a cancellation.
        var iterator = events.makeAsyncIterator()
        return await iterator.next()
      }
    }
    let large = [UInt8](repeating: 1, count: 1 << 20)
    for number in 1...8 as ClosedRange<UInt64> {
      continuation.yield(
        .commit(
          CommittedWrites(position: ClusterPosition(number), puts: [row(7): large], deletes: [])))
    }
    continuation.finish()
    let cluster = fast.sharingChanges()
    do {
      let changes = try await cluster.changes(request())
      try await Task.sleep(for: .milliseconds(100))
      extendLifetime(changes)
    }
    try await Task.sleep(for: .milliseconds(100))
    _ = try await cluster.changes(request())
  }

  @Test func `all get the error that ends the sequence, and the next caller begins another`()
    async throws
  {
    let (events, continuation) = AsyncStream.makeStream(of: Void.self)
    let count = Counter()
    var broken = engine.cluster
    broken.changes = { _ throws(StorageError) in
      ClusterChanges { () throws(StorageError) in
        var iterator = events.makeAsyncIterator()
        _ = await iterator.next()
        throw StorageError(.unavailable, "the node is gone")
      }
    }
    let cluster = counting(count, broken).sharingChanges()
    let all = [try await cluster.changes(request()), try await cluster.changes(request())]
    continuation.finish()
    for changes in all {
      let error = await #expect(throws: StorageError.self) { try await changes.take(1) }
      #expect(error?.message == "the node is gone")
      #expect(try await changes.take(1) == [])
    }
    _ = try await cluster.changes(request())
    #expect(count.value.withLock(\.self) == 2)
  }

  @Test func `all get the error if the sequence cannot begin`() async throws {
    var broken = engine.cluster
    broken.changes = { _ throws(StorageError) in throw StorageError(.denied, "no certificate") }
    let cluster = broken.sharingChanges()
    for _ in 0..<2 {
      let error = await #expect(throws: StorageError.self) {
        try await cluster.changes(request())
      }
      #expect(error?.code == .denied)
    }
  }

  @Test func `all learn that the history was discarded`() async throws {
    let (events, continuation) = AsyncStream.makeStream(of: ClusterEvent.self)
    var compacted = engine.cluster
    compacted.changes = { _ throws(StorageError) in
      ClusterChanges { () throws(StorageError) in
        var iterator = events.makeAsyncIterator()
        return await iterator.next()
      }
    }
    let cluster = compacted.sharingChanges()
    let all = [try await cluster.changes(request()), try await cluster.changes(request())]
    continuation.yield(.compacted)
    continuation.finish()
    for changes in all { #expect(try await changes.take(2) == [.compacted]) }
  }
}

/// A number that several tasks change.
private final class Counter: Sendable {
  let value = Mutex(0)
}
