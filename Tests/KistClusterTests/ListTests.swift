import KistCluster
import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A list of rows` {
  private let engine = MemoryEngine()

  private func put(_ names: RecordName..., size: Int = 1) async throws {
    for name in names {
      let record = [UInt8](repeating: 5, count: size)
      _ = try await engine.cluster.commit(Commit(expected: nil, puts: [name: record]))
    }
  }

  private func page(_ request: ListRequest, of cluster: Cluster) async throws -> ListPage {
    guard case .page(let page) = try await cluster.list(request) else { throw Unexpected() }
    return page
  }

  @Test(arguments: Way.allCases) func `has the rows of one generation and one first byte, in order`(
    way: Way
  ) async throws {
    let cluster = try way.to(engine.cluster)
    try await put(
      row(7, 2), row(7, 1), row(8), row(6), row(7, 3, generation: 2), .roster(number: 1))
    let page = try await page(ListRequest(generation: 1, firstByte: 7), of: cluster)
    #expect(page.rows.map(\.key) == [RecordID(7, 1), RecordID(7, 2)])
    #expect(page.rows.allSatisfy { $0.bytes == [5] })
    #expect(page.isLast && page.position == engine.position)
    let empty = try await self.page(ListRequest(generation: 1, firstByte: 9), of: cluster)
    #expect(empty.rows.isEmpty && empty.isLast)
  }

  @Test(arguments: Way.allCases) func `goes on page by page at the position of the first page`(
    way: Way
  ) async throws {
    let cluster = try way.to(engine.cluster)
    let names = (1...5).map { row(7, $0) }
    for name in names { try await put(name, size: 600 << 10) }
    var request = ListRequest(generation: 1, firstByte: 7)
    var keys: [RecordID] = []
    while true {
      let page = try await page(request, of: cluster)
      #expect(page.rows.count == 1)
      keys += page.rows.map(\.key)
      if page.isLast { break }
      (request.after, request.position) = (page.rows.last?.key, page.position)
      // A later change is not in the pages that follow.
      _ = try await engine.cluster.commit(
        Commit(expected: nil, puts: [row(7, 9): [1]], deletes: [row(7, 5)]))
    }
    #expect(keys == (1...5).map { RecordID(7, $0) })
  }

  @Test(arguments: Way.allCases) func `at a position whose history was discarded is compacted`(
    way: Way
  ) async throws {
    let cluster = try way.to(engine.cluster)
    try await put(row(7, 1), row(7, 2), row(7, 3))
    engine.compact(upTo: ClusterPosition(2))
    let old = ListRequest(generation: 1, firstByte: 7, position: ClusterPosition(1))
    #expect(try await cluster.list(old) == .compacted)
    let kept = ListRequest(generation: 1, firstByte: 7, position: ClusterPosition(2))
    #expect(try await page(kept, of: cluster).rows.count == 2)
    #expect(try await page(ListRequest(generation: 1, firstByte: 7), of: cluster).rows.count == 3)
  }
}
