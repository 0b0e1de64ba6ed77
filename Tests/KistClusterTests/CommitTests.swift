import KistCluster
import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A commit to a cluster` {
  private let engine = MemoryEngine()

  @Test(arguments: Way.allCases)
  func `is made if the head is the expected one, and is read from then on`(way: Way) async throws {
    let cluster = try way.to(engine.cluster)
    #expect(try await cluster.head(1).head == nil)
    let reply = try await cluster.commit(.change(1, after: nil, puts: [row(7): [1, 2]]))
    let reading = try await cluster.head(1)
    #expect(reading.head == bytes(1) && reply == .committed(reading.position))
    let names = [row(7), .roster(number: 1), .logEntry(generation: 1, sequence: 1)]
    #expect(try await cluster.records(names) == [[1, 2], nil, bytes(1)])
    #expect(try await cluster.head(2).head == nil)
  }

  @Test(arguments: Way.allCases) func `changes nothing if the head is another`(way: Way)
    async throws
  {
    let cluster = try way.to(engine.cluster)
    _ = try await cluster.commit(.change(1, after: nil, puts: [row(7): [1]]))
    let before = try await cluster.head(1)
    for wrong in [nil, bytes(0), bytes(1) + [0]] {
      let commit = Commit.change(2, after: wrong, puts: [row(8): [1]], deletes: [row(7)])
      #expect(try await cluster.commit(commit) == .headDiffers)
    }
    #expect(try await cluster.head(1) == before)
    #expect(try await cluster.records([row(7), row(8)]) == [[1], nil])
  }

  @Test(arguments: Way.allCases)
  func `can move to another generation, and then no commit of the old one is made`(way: Way)
    async throws
  {
    let cluster = try way.to(engine.cluster)
    _ = try await cluster.commit(.change(1, after: nil))
    let move = Commit(
      expected: Commit.ExpectedHead(generation: 1, bytes: bytes(1)),
      puts: [.roster(number: 1): [2], .head(generation: 2): bytes(2)],
      deletes: [.head(generation: 1)])
    guard case .committed = try await cluster.commit(move) else { throw Unexpected() }
    #expect(try await cluster.commit(move) == .headDiffers)
    #expect(try await cluster.commit(.change(2, after: bytes(1))) == .headDiffers)
    #expect(try await cluster.head(2).head == bytes(2))
  }

  @Test(arguments: Way.allCases)
  func `without an expected head is always made, and may delete absent records`(way: Way)
    async throws
  {
    let cluster = try way.to(engine.cluster)
    _ = try await cluster.commit(.change(1, after: nil))
    let seen = RecordName.seen(machine: RecordID(1))
    _ = try await cluster.commit(Commit(expected: nil, puts: [seen: [1]], deletes: [row(1)]))
    #expect(try await cluster.records([seen]) == [[1]])
  }

  @Test(arguments: Way.allCases)
  func `is the only one that is made of many with the same expected head`(way: Way) async throws {
    let cluster = try way.to(engine.cluster)
    for round in 1...50 as ClosedRange<UInt64> {
      let before = try await cluster.head(1).head
      let replies = await withTaskGroup { group in
        for writer in 0..<8 as Range<UInt64> {
          group.addTask {
            let head = bytes(round * 8 + writer)
            return try? await cluster.commit(.change(round, after: before, head: head))
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(replies.count { $0 != .headDiffers } == 1)
    }
  }

  @Test(
    arguments: Way.allCases,
    [
      (128, 0, 8192, nil), (64, 64, 1, nil), (129, 0, 1, .tooLarge), (64, 65, 1, .tooLarge),
      (1, 0, 1 << 20, nil), (1, 0, 1 << 20 + 1, .tooLarge), (2, 0, 1 << 19 + 1, .tooLarge),
    ] as [(UInt8, UInt8, Int, StorageError.Code?)])
  func `is refused above its limits`(
    way: Way, load: (puts: UInt8, deletes: UInt8, size: Int, code: StorageError.Code?)
  ) async throws {
    let cluster = try way.to(engine.cluster)
    let (puts, deletes, size, code) = load
    var commit = Commit(expected: nil)
    for first in 0..<puts { commit.puts[row(first)] = [UInt8](repeating: 1, count: size) }
    for first in 0..<deletes { commit.deletes.insert(row(first, 1)) }
    if let code {
      await expect(code) { [commit] in try await cluster.commit(commit) }
      #expect(try await cluster.records([row(0)]) == [nil])
    } else {
      _ = try await cluster.commit(commit)
    }
  }

  @Test(arguments: Way.allCases) func `is refused if it writes and deletes the same record`(
    way: Way
  ) async throws {
    let cluster = try way.to(engine.cluster)
    let commit = Commit(expected: nil, puts: [row(1): [1]], deletes: [row(1)])
    await expect(.badRequest) { try await cluster.commit(commit) }
  }

  @Test(arguments: Way.allCases) func `and a read are refused for more than 128 records`(way: Way)
    async throws
  {
    let cluster = try way.to(engine.cluster)
    let names = (0...128).map { row($0) }
    #expect(try await cluster.records(Array(names.dropLast())).count == 128)
    await expect(.tooLarge) { try await cluster.records(names) }
  }

  @Test(arguments: Way.allCases)
  func `is made for records that a read refuses above 1 MiB together`(
    way: Way
  ) async throws {
    let cluster = try way.to(engine.cluster)
    for (key, size) in [(1, 1 << 20), (2, 1)] as [(UInt8, Int)] {
      _ = try await cluster.commit(
        Commit(expected: nil, puts: [row(key): [UInt8](repeating: 1, count: size)]))
    }
    #expect(try await cluster.records([row(1), row(3)]).count == 2)
    await expect(.tooLarge) { try await cluster.records([row(1), row(2)]) }
  }
}

struct Unexpected: Error {}
